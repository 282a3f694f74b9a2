/// An object that reports its release to a test.
final class Witness: Sendable {
    private let continuation: AsyncStream<Void>.Continuation

    private init(_ continuation: AsyncStream<Void>.Continuation) {
        self.continuation = continuation
    }

    deinit {
        continuation.finish()
    }

    /// - Returns: a witness, and a sequence that ends when the witness is released.
    static func make() -> (witness: Witness, gone: AsyncStream<Void>) {
        let (gone, continuation) = AsyncStream.makeStream(of: Void.self)
        return (Witness(continuation), gone)
    }
}

extension AsyncStream<Void> {
    /// Waits for the end of the sequence.
    func finished() async {
        for await _ in self {}
    }
}
