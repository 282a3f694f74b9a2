/// Asks the user questions at the terminal, and keeps progress from being drawn over them.
protocol Asker: Sendable {
    /// Prints the question, and stops drawing until `answered` is called.
    func ask(_ question: String) async

    /// Resumes drawing after an answer.
    func answered() async
}

/// Asks questions in a command that draws no progress.
struct PlainAsker: Asker {
    func ask(_ question: String) async { StandardStream.error.write(question) }

    func answered() async {}
}
