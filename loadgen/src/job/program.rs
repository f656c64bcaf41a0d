//! Programs: what operations do, instruction by instruction.

use serde::{Deserialize, Serialize};

/// What an operation does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The program's name.
    pub name: String,
    /// Its instructions in order.
    pub code: Vec<Instruction>,
}

/// One instruction of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(String, usize)", into = "(String, usize)")]
pub enum Instruction {
    /// Draws a value of scope `transaction`.
    Draw(usize),
    /// Sends a statement and waits for its reply.
    Send(usize),
    /// Leaves the connection idle for so many microseconds.
    Sleep(usize),
    /// Makes an assignment.
    Set(usize),
    /// Goes on elsewhere unless a branch's expression is true.
    Unless(usize),
    /// Goes on with another instruction of the program, further down.
    Jump(usize),
    /// Leaves the connection idle for as long as a variable says.
    Rest(usize),
    /// From here on statements are not waited for.
    Pipeline,
    /// Ends a transaction, or what an error skips, within a pipeline.
    Sync,
    /// Sends what a pipeline has gathered, and waits for all answers.
    Flush,
    /// Ends the operation, which counts as rolled back.
    RolledBack,
}

impl Instruction {
    /// Whether it computes, branches or pipelines: its program is a script then.
    #[must_use]
    pub fn is_of_scripts(self) -> bool {
        !matches!(self, Self::Draw(_) | Self::Send(_) | Self::Sleep(_))
    }
}

impl TryFrom<(String, usize)> for Instruction {
    type Error = String;

    fn try_from((verb, index): (String, usize)) -> Result<Self, String> {
        match verb.as_str() {
            "draw" => Ok(Self::Draw(index)),
            "send" => Ok(Self::Send(index)),
            "sleep" => Ok(Self::Sleep(index)),
            "set" => Ok(Self::Set(index)),
            "unless" => Ok(Self::Unless(index)),
            "jump" => Ok(Self::Jump(index)),
            "rest" => Ok(Self::Rest(index)),
            "pipeline" => Ok(Self::Pipeline),
            "sync" => Ok(Self::Sync),
            "flush" => Ok(Self::Flush),
            "rolled_back" => Ok(Self::RolledBack),
            _ => Err(format!(
                "no instruction `{verb}`; there are `draw`, `send`, `sleep`, `set`, `unless`, `jump`, `rest`, `pipeline`, \
                 `sync`, `flush` and `rolled_back`"
            )),
        }
    }
}

impl From<Instruction> for (String, usize) {
    fn from(instruction: Instruction) -> Self {
        let (verb, index) = match instruction {
            Instruction::Draw(index) => ("draw", index),
            Instruction::Send(index) => ("send", index),
            Instruction::Sleep(us) => ("sleep", us),
            Instruction::Set(index) => ("set", index),
            Instruction::Unless(index) => ("unless", index),
            Instruction::Jump(to) => ("jump", to),
            Instruction::Rest(index) => ("rest", index),
            Instruction::Pipeline => ("pipeline", 0),
            Instruction::Sync => ("sync", 0),
            Instruction::Flush => ("flush", 0),
            Instruction::RolledBack => ("rolled_back", 0),
        };
        (verb.to_owned(), index)
    }
}
