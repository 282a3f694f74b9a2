package import TransferModel

/// For each path, the newest connection that has replaced its file or has begun to. A client that was killed and
/// started again has a newer connection, and content from the old connection may still be on its way to the disk. That
/// content must not replace what the newer connection has stored.
package struct Overwrites: Sendable {
    /// Names in a generation. An older name may be forgotten if nothing that was sent before it is still waiting; at
    /// most 16 MiB of uploads wait.
    private static let generation = 32_768

    private var recent: [RelativePath: Int] = [:]
    private var older: [RelativePath: Int] = [:]

    package init() {}

    /// - Returns: nil if the path is in neither generation.
    package func newest(_ path: RelativePath) -> Int? { recent[path] ?? older[path] }

    /// Refuses content of an old connection that is lost. Connections that still exist may replace each other's files.
    ///
    /// - Throws: `aborted` if a newer connection has replaced the file.
    package func check(_ publication: Publication) throws(Failure) {
        guard let sender = publication.sender, let newest = newest(publication.path), newest > sender.connection,
            sender.isGone()
        else { return }
        throw Failure(.aborted, "\(publication.path) was replaced by a newer connection meanwhile.")
    }

    /// - Parameter connection: the number of the connection. Newer connections have greater numbers.
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
