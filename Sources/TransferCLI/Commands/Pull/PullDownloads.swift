internal import TransferClient

/// All downloads of a pull, in this order: those that the arguments name, those of a manifest, and those of a list.
struct PullDownloads: Sequence, Sendable {
    private let named: [Download]
    private let listed: ListedPaths

    /// The only download; nil if there are several, or there is a list.
    let only: Download?

    /// - Throws: `UsageError` if there is nothing to pull.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        let lists = [arguments[PullFlags.filesFrom], arguments[PullFlags.manifest]].compactMap(\.self)
        let hasList = !lists.isEmpty
        guard !arguments.operands.isEmpty || hasList else {
            throw arguments.error("nothing to pull; name files or folders")
        }
        guard lists.count(where: { $0 == "-" }) <= 1 else {
            throw arguments.error("standard input can be read only once")
        }
        let manifest = try Manifest(PullFlags.manifest, arguments, for: .pull)
        named =
            arguments.operands.map { Download($0, isPattern: true) }
            + manifest.entries.map { Download($0.path, name: $0.destination) }
        listed = try ListedPaths(PullFlags.filesFrom, arguments)
        only = hasList || named.count > 1 ? nil : named.first
    }

    /// Replaces the downloads by one file.
    init(only download: Download, of others: PullDownloads) {
        (named, listed, only) = ([download], others.listed, download)
    }

    /// Listed paths that cannot be requested, unchanged.
    var unusable: [[UInt8]] { listed.unusable }

    func makeIterator() -> AnyIterator<Download> {
        var named = named.makeIterator()
        let listed = listed.makeIterator()
        return AnyIterator { named.next() ?? listed.next().map { Download($0.path, name: $0.name) } }
    }
}
