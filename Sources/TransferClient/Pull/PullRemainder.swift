import TransferModel

/// Something of which nobody knows yet what comes of it, because the pull has ended before.
package struct PullRemainder: Sendable, Hashable {
    /// On the server.
    package let source: String

    /// Where it would be, below the directory that is pulled to; nothing for that itself.
    package let target: String?

    /// Whether the source is a pattern, of which not all was found yet.
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
    /// What is left to do when the pull ends before it is looked at.
    package var remainder: PullRemainder {
        let path = TransferClient.clean(path)
        guard !isPattern || PathGlob(path, ignoresCase: false) == nil else {
            return PullRemainder(self.path, to: nil, isPattern: true)
        }
        let last = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) }
        return PullRemainder(path, to: name ?? last)
    }
}
