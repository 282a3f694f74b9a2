import TransferModel

/// Work that remains because a pull has ended early.
package struct PullRemainder: Sendable, Hashable {
    /// The path or pattern on the server.
    package let source: String

    /// The path where the source would be stored, below the directory that is pulled to; nil for that directory itself,
    /// and for a pattern.
    package let target: String?

    /// Whether the source is a pattern whose matches are not all known.
    package let isPattern: Bool

    init(_ source: String, to target: String?, isPattern: Bool = false) {
        (self.source, self.target, self.isPattern) = (source, target, isPattern)
    }

    package static func == (one: PullRemainder, other: PullRemainder) -> Bool {
        one.source.hasSameBytes(as: other.source) && one.isPattern == other.isPattern
            && (one.target ?? "").hasSameBytes(as: other.target ?? "")
    }

    package func hash(into hasher: inout Hasher) {
        source.hashBytes(into: &hasher)
        (target ?? "").hashBytes(into: &hasher)
    }
}

extension Download {
    /// The work that remains if the pull ends before it has asked about the operand.
    package var remainder: PullRemainder {
        let path = TransferClient.clean(path)
        guard !isPattern || PathGlob(path, ignoresCase: false) == nil else {
            return PullRemainder(self.path, to: nil, isPattern: true)
        }
        let last = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) }
        return PullRemainder(path, to: name ?? last)
    }
}
