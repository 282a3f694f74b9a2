private import Glibc
internal import TransferClient
private import TransferModel

/// The two sides of a sync or a check: a local directory and a folder on a server.
///
/// As with rsync, `DIR/` means the content of the directory. `DIR` means the directory itself, which is put into the
/// target under its own name.
struct SyncPlaces {
    /// Whether the local directory is the source.
    let isPush: Bool

    /// The local directory, without a slash at its end.
    let directory: String

    /// The folder, relative to the folder in the server's address; empty for that folder itself.
    let folder: String

    init(_ arguments: ParsedArguments, server: Flag) throws(UsageError) {
        let operands = arguments.operands
        switch (operands.count, arguments.places) {
        case (1, []) where arguments.isSet(server): self.init(from: operands[0], to: "")
        case (2, [1]): self.init(from: operands[0], to: operands[1])
        case (2, [0]): self.init(of: operands[0], into: operands[1])
        case (2, []):
            let line = CommandLineText(arguments.command, [operands[0], "HOST:/\(operands[1])"])
            throw arguments.error("neither operand is on a server; to send, write: \(line.text)")
        case (2, _): throw arguments.error("both operands are on a server; one of them must be a local directory")
        default:
            throw arguments.error(
                "give a SOURCE and a TARGET, one of them on a server: \(arguments.command.invocation) photos/ HOST:/photos"
            )
        }
    }

    private init(from source: String, to folder: String) {
        let name = Self.ownName(source)
        isPush = true
        directory = Self.withoutSlashes(source)
        self.folder = Self.joined(Self.withoutSlashes(folder), name ?? "")
    }

    private init(of folder: String, into target: String) {
        isPush = false
        self.folder = Self.joined(Self.withoutSlashes(folder), "")
        let directory = Self.withoutSlashes(target)
        // If the folder itself is the source, and not only its content, it is put into the directory under its last
        // component.
        self.directory = Self.ownName(folder).map { "\(directory)/\($0)" } ?? directory
    }

    /// The name that the source gets in the target; nil if only its content is put into the target.
    private static func ownName(_ text: String) -> String? {
        guard text.utf8.last != UInt8(ascii: "/"),
            let last = text.utf8.split(separator: UInt8(ascii: "/")).last.map({ String(Substring($0)) })
        else { return nil }
        return [".", "..", "~"].contains(last) ? nil : last
    }

    private static func withoutSlashes(_ text: String) -> String {
        let bytes = text.utf8
        var end = bytes.endIndex
        while end > bytes.startIndex, bytes[bytes.index(before: end)] == UInt8(ascii: "/") {
            end = bytes.index(before: end)
        }
        let kept = String(Substring(bytes[..<end]))
        return kept.isEmpty && !text.isEmpty ? "/" : kept
    }

    private static func joined(_ folder: String, _ name: String) -> String {
        [folder == "/" ? "" : folder, name].filter { !$0.isEmpty }.joined(separator: "/")
    }
}
