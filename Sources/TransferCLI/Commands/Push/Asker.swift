/// Prints questions to the user at the terminal, without progress drawn over them.
protocol Asker: Sendable {
    /// Prints the question, and stops drawing until `answered` is called.
    func ask(_ question: String) async

    /// Starts to draw again, after an answer.
    func answered() async
}

/// Asks where no progress is drawn.
struct PlainAsker: Asker {
    func ask(_ question: String) async { StandardStream.error.write(question) }

    func answered() async {}
}
