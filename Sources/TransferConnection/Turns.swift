/// When a connection gives way to the others of its loop: one that always has more to say must not keep the loop to itself.
package struct Turns: Sendable {
    /// Bytes received in one turn.
    private let length: Int
    private var received = 0

    package init(of length: Int) {
        self.length = length
    }

    /// - Returns: whether the turn is over with these bytes; then the next one begins.
    package mutating func isOver(after count: Int) -> Bool {
        received += count
        guard received >= length else { return false }
        received = 0
        return true
    }
}
