internal import TransferClient

/// Where things go that are moved or copied on the server.
struct TargetPaths {
    /// What each is to be called.
    let pairs: [(path: String, target: String)]

    /// They go into the target, as mv(1) has it, if that is a folder that is there, a slash says that it is one, or if there are
    /// several.
    init(_ sources: [String], to target: String, on client: TransferClient) async throws(PushFailure) {
        let isFolder = try await Self.isFolder(target, isForSeveral: sources.count > 1, client)
        pairs = sources.map { ($0, isFolder ? "\(target)/\(Self.name(of: $0))" : target) }
    }

    private static func isFolder(
        _ target: String, isForSeveral: Bool, _ client: TransferClient
    ) async throws(PushFailure) -> Bool {
        if isForSeveral || target.utf8.last == UInt8(ascii: "/") { return true }
        for try await report in client.stat([target]) where report.entry?.isDirectory ?? false { return true }
        return false
    }

    private static func name(of path: String) -> String {
        path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
    }
}
