internal import TransferClient

/// How far a pull is, on the line that shows how far a push is.
struct PullProgress {
    private var line = LiveLine()

    mutating func update(_ event: PullEvent) { line.update(event.asPush) }

    mutating func refresh() { line.refresh() }

    mutating func clear() { line.clear() }
}
