private import Glibc
internal import TransferClient
internal import TransferModel

/// All uploads of a push, in this order: those that the arguments name, those of a manifest, and those of a list.
struct PushUploads: Sequence, Sendable {
    private let named: [Upload]
    private let listed: ListedPaths
    private let kind: ContentKind?

    /// The kinds that a manifest gives, by the path under which the file is stored.
    let kinds: [PathKey: ContentKind]

    /// - Throws: `UsageError` for operands and flags that cannot be combined.
    init(_ arguments: ParsedArguments, _ input: StandardInput) throws(UsageError) {
        kind = arguments[PushFlags.kind]
        try Self.check(arguments)
        var named = try Self.named(arguments, input, kind)
        let manifest = try Manifest(PushFlags.manifest, arguments, for: .push)
        for entry in manifest.entries {
            named.append(.path(entry.path, name: entry.destination, kind: entry.kind ?? kind))
        }
        self.named = named
        kinds = manifest.kinds
        listed = try ListedPaths(PushFlags.filesFrom, arguments)
    }

    /// Listed paths that cannot be opened, unchanged.
    var unusable: [[UInt8]] { listed.unusable }

    func makeIterator() -> AnyIterator<Upload> {
        var named = named.makeIterator()
        let listed = listed.makeIterator()
        return AnyIterator {
            if let upload = named.next() { return upload }
            return listed.next().map { .path($0.path, name: $0.name, kind: kind) }
        }
    }

    private static func check(_ arguments: ParsedArguments) throws(UsageError) {
        let isBatch = arguments.isSet(PushFlags.filesFrom) || arguments.isSet(PushFlags.manifest)
        let count = arguments.operands.count + (arguments.isSet(PushFlags.text) ? 1 : 0)
        guard count > 0 || isBatch else {
            guard arguments.words.isEmpty else { throw nothing(to: arguments.words[0], arguments) }
            throw arguments.error("nothing to push; name files or directories, or use --text or -")
        }
        guard !arguments.isSet(PushFlags.name) || count == 1 && !isBatch else {
            throw arguments.error("--name is for a single upload")
        }
        try checkLast(arguments)
        let lists = [arguments[PushFlags.filesFrom], arguments[PushFlags.manifest]].compactMap(\.self)
        let inputs = (lists + arguments.operands).filter { $0 == "-" }
        guard inputs.count <= 1 else { throw arguments.error("standard input can be read only once") }
        guard !arguments.isSet(PushFlags.name) || !arguments.isSet(PushFlags.failedTo) else {
            throw arguments.error("--failed-to cannot be combined with --name; use --manifest")
        }
    }

    /// Suggests a colon if the last operand is not a file, but the name of a remote.
    private static func checkLast(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.count > 1, arguments.operands.count == arguments.words.count,
            let last = arguments.operands.last, arguments.remotes.contains(last), access(last, F_OK) != 0
        else { return }
        let line = CommandLineText(PushCommand.definition, arguments.operands.dropLast() + ["\(last):"])
        throw arguments.error(
            "there is no file '\(last)' here; to push to the remote of that name, write: \(line.text)")
    }

    /// The error if the only operand names the target.
    private static func nothing(to place: String, _ arguments: ParsedArguments) -> UsageError {
        guard !ArgumentSecrets.isSecret(in: place) else {
            return arguments.error("nothing to push; name files or directories")
        }
        let fetching = CommandLineText(PullCommand.definition, [place]).text
        let sending = CommandLineText(PushCommand.definition, ["./\(place)"]).text
        return arguments.error(
            "nothing to push to '\(place.escapedForDisplay)'; to fetch what is there, write: \(fetching); to send a file of "
                + "that name, write: \(sending)")
    }

    private static func named(
        _ arguments: ParsedArguments, _ input: StandardInput, _ kind: ContentKind?
    ) throws(UsageError) -> [Upload] {
        let name = arguments[PushFlags.name]
        var uploads: [Upload] = []
        for path in arguments.operands {
            guard input.operand?.path.hasSameBytes(as: path) ?? false else {
                uploads.append(.path(path, name: name, kind: kind))
                continue
            }
            guard let name else {
                let what = path == "-" ? "standard input" : "'\(path.escapedForDisplay)' is a pipe, which"
                throw arguments.error("\(what) needs a name; use --name")
            }
            uploads.append(.stream(input, name: name, kind: kind))
        }
        guard let text = arguments[PushFlags.text] else { return uploads }
        return uploads + [.bytes(Array(text.utf8), name: name ?? "text.txt", kind: kind ?? .text)]
    }
}
