import TransferModel
import TransferProtocol
import TransferSystem

/// Copies files and folders on the server with their links and attributes: symbolic links as links, hard links,
/// permissions, times, extended attributes, and owners if the server can set them. The client sends no content.
struct TreeCopy: Sendable {
    let client: TransferClient
    let isRecursive: Bool

    /// Whether a copy replaces a file or link at its path.
    let replaces: Bool

    let unlisted: @Sendable (UnlistedNames) -> Void

    /// Receives the outcome of each entry.
    let report: @Sendable (ChangeReport) -> Void

    /// Plans everything before it copies anything, because the target of a copy can be inside the folder that is
    /// copied.
    ///
    /// - Throws: if a folder cannot be listed, in which case nothing was copied; or if the connection is lost for good.
    func run(_ copies: [(path: String, target: String)]) async throws(TransferFailure) {
        let plan = try await look(copies)
        let features = isRecursive ? try await client.features(needs: [.files, .trees]) : []
        try await TreeCopyRun(self, keepsOwners: features.contains(.owners)).make(plan)
    }

    /// - Parameter answer: the server's answer; nil if the server was not asked.
    func tell(
        _ form: EntryForm?, _ path: String, _ result: ResultCode, _ message: String, _ answer: ChangeReport? = nil
    ) {
        report(
            ChangeReport(
                path: path, result: result, isDurable: answer?.isDurable ?? false, message: message, form: form,
                trash: answer?.trash))
    }
}

/// The entries to create, each with its new path.
struct TreeCopyPlan: Sendable {
    struct File: Sendable {
        let source: String
        let entry: SyncEntry
    }

    /// The folders, each after the folders that contain it. If several have the same path, only the first one is kept.
    private(set) var folders: [SyncEntry] = []
    private(set) var links: [SyncEntry] = []
    private(set) var files: [File] = []
    private var known: Set<RelativePath> = []

    mutating func add(_ source: String, _ entry: SyncEntry) {
        if entry.isLink {
            links.append(entry)
        } else if !entry.isFolder {
            files.append(File(source: source, entry: entry))
        } else if known.insert(entry.path).inserted {
            folders.append(entry)
        }
    }
}

// MARK: Looking

extension TreeCopy {
    private func look(_ copies: [(path: String, target: String)]) async throws(TransferFailure) -> TreeCopyPlan {
        var (plan, budget) = (TreeCopyPlan(), client.listBudget)
        var index = 0
        for try await answer in client.stat(copies.map(\.path), wantsAll: true) {
            guard copies.indices.contains(index) else { break }
            let target = copies[index].target
            index += 1
            guard let found = answer.entry else {
                tell(nil, answer.path, answer.result, answer.message)
                continue
            }
            guard isRecursive || !found.isDirectory else {
                tell(.folder, answer.path, .wrongForm, "It is a folder.")
                continue
            }
            guard !found.path.hasSameBytes(as: TransferClient.clean(target)) else {
                tell(nil, answer.path, .pathConflict, "Source and target are the same.")
                continue
            }
            try add(found, at: target, &plan, &budget)
            guard found.isDirectory else { continue }
            for try await inner in client.list(
                found.path, isRecursive: true, wantsDetails: false, wantsAll: true, unlisted: unlisted)
            {
                // The path of an entry in a folder begins with the folder's path, byte by byte.
                let below = String(decoding: inner.path.utf8.dropFirst(found.path.utf8.count), as: UTF8.self)
                try add(inner, at: "\(target)/\(below)", &plan, &budget)
            }
        }
        return plan
    }

    private func add(
        _ found: RemoteEntry, at place: String, _ plan: inout TreeCopyPlan, _ budget: inout ListBudget
    ) throws(TransferFailure) {
        let place = TransferClient.clean(place)
        do throws(RelativePath.Fault) {
            _ = try RelativePath(place)
        } catch {
            return tell(nil, place, .invalidPath, error.message)
        }
        guard let entry = SyncEntry(found.at(place)) else { return }
        try budget.hold(found)
        plan.add(found.path, entry)
    }
}

extension RemoteEntry {
    /// The same entry at another path.
    fileprivate func at(_ path: String) -> RemoteEntry {
        RemoteEntry(
            path: path, isDirectory: isDirectory, size: size, modified: modified, permissions: permissions, kind: kind,
            digest: digest, stored: stored, version: version, isLink: isLink, extras: extras)
    }
}
