internal import TransferClient

/// The arguments of `move` and `copy`: sources, target and options.
struct TargetArguments {
    let access: FilesAccess
    let replaces: Bool
    let isJSON: Bool
    let isQuiet: Bool
    private let sources: [String]
    private let target: String

    static let json = FilesFlags.json("path")

    static let overwrites = Flag(
        name: "overwrite", help: "Replace an existing file at the new path.",
        details: "Only a file can replace a file; folders are never replaced."
    ).isOn

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.count >= 2, let last = arguments.operands.last else {
            let name = arguments.command.name
            throw arguments.error("give sources and a target: transfer \(name) SOURCE... TARGET")
        }
        (sources, target) = (Array(arguments.operands.dropLast()), last)
        replaces = arguments[Self.overwrites]
        isJSON = arguments[Self.json]
        isQuiet = arguments[FilesFlags.quiet]
        access = try FilesAccess(arguments, quiet: FilesFlags.quiet)
    }

    /// The new path of each source. As with mv(1), sources are put into the target if it is an existing folder or ends
    /// with a slash, or if there are several sources.
    func pairs(_ client: TransferClient) async throws(TransferFailure) -> [(path: String, target: String)] {
        let isFolder = try await isFolder(client)
        return sources.map { ($0, isFolder ? "\(target)/\(Self.name(of: $0))" : target) }
    }

    private func isFolder(_ client: TransferClient) async throws(TransferFailure) -> Bool {
        if sources.count > 1 || target.utf8.last == UInt8(ascii: "/") { return true }
        for try await report in client.stat([target]) where report.entry?.isDirectory ?? false { return true }
        return false
    }

    private static func name(of path: String) -> String {
        path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
    }
}
