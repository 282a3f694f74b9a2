package import TransferModel

/// Which connection was the last to replace, or to begin to replace, what has a name. A client that was killed and started
/// again is a newer connection, and what the old one has sent may still be on its way to the disk: it must not take the
/// place of what the new one was told is stored.
package struct Overwrites: Sendable {
    /// Names in a generation. Forgetting one that is older is no harm as long as nothing that was sent before it waits, and
    /// 16 MiB of uploads wait at most.
    private static let generation = 32_768

    private var recent: [RelativePath: Int] = [:]
    private var older: [RelativePath: Int] = [:]

    package init() {}

    /// - Returns: nil if the path is in neither generation.
    package func newest(_ path: RelativePath) -> Int? { recent[path] ?? older[path] }

    /// One of a connection that is still there is as good as the other.
    ///
    /// - Throws: `aborted` for what comes late from a client that is gone.
    package func check(_ publication: Publication) throws(Failure) {
        guard let sender = publication.sender, let newest = newest(publication.path), newest > sender.connection,
            sender.isGone()
        else { return }
        throw Failure(.aborted, "\(publication.path) was replaced by a newer connection since.")
    }

    /// - Parameter connection: its number; they grow.
    package mutating func announce(_ path: RelativePath, _ connection: Int) {
        let earlier = older.isEmpty ? nil : older[path]
        recent[path, default: earlier ?? connection].raise(to: connection)
        guard recent.count >= Self.generation else { return }
        (older, recent) = (recent, [:])
    }
}

extension Int {
    fileprivate mutating func raise(to other: Int) { self = Swift.max(self, other) }
}
