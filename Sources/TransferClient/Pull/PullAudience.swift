/// Whoever is told of what happens during a pull. Called on the pool and on loops.
protocol PullAudience: Sendable {
    /// Whether it is behind.
    var isFull: Bool { get }

    func send(_ event: PullEvent)
}

extension EventQueue<PullEvent>: PullAudience {}
