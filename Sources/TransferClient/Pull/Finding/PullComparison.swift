import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// Asks with one digest whether a folder on the server has the same entries as here. If so, only its subfolders remain
/// to be compared; otherwise it is listed.
final class PullComparison: AnswerTaker {
    /// The local contents of the folder, as an earlier pull has left them.
    struct Present {
        var digester = FolderDigester()
        var files = 0
        var bytes: UInt64 = 0
        var folders: [String] = []
        /// Whether an earlier pull seems to have stored every file, so that none must be read.
        var isSettled = true

        fileprivate mutating func add(_ name: String, _ attributes: StoredAttributes) {
            digester.add(name, attributes)
            guard !attributes.isDirectory else { return folders.append(name) }
            isSettled = isSettled && attributes.hasGivenTime
            files += 1
            bytes = bytes.addingClamped(attributes.size)
        }
    }

    private let folder: PullFolder
    private let present: Present
    private let plan: PullPlan

    init(_ folder: PullFolder, _ present: Present, _ plan: PullPlan) {
        (self.folder, self.present, self.plan) = (folder, present, plan)
    }

    var asked: PendingRequest {
        PendingRequest(
            .compare(CompareRequest(.entries, in: plan.context.remote(folder.source), present.digester.digest)), self)
    }

    /// Unless the server answers that the entries are the same, the folder is listed. The list then reports the reason,
    /// for example that the folder is gone or hidden from this client.
    func end(_ outcome: Outcome) {
        guard outcome.code == .alreadyStored, outcome.count == UInt64(present.digester.count) else {
            return plan.again(.folder(folder.listed))
        }
        plan.add(present.folders.compactMap { folder.below($0).map { .folder($0) } })
        if present.files > 0 {
            plan.count(present.files, present.bytes)
            plan.events.send(
                .known(
                    KnownFolder(
                        source: folder.source, storedPath: folder.target?.string ?? "", files: present.files,
                        bytes: present.bytes)))
        }
        plan.listed()
    }

    func lost() { plan.again(.folder(folder)) }
}

extension PullDirectory {
    /// The contents of a local folder.
    ///
    /// - Parameter folder: nil for the directory itself.
    /// - Returns: nil if the folder does not exist or is empty, or if a file must be read to be compared.
    func present(in folder: RelativePath?) -> PullComparison.Present? {
        guard let listing = try? list(folder) else { return nil }
        var present = PullComparison.Present()
        do throws(Failure) {
            // Stop at the first file that must be read, because the folder must then be listed anyway.
            while present.isSettled, try listing.forEach(512, { present.add($0, $1) }) == 512 {}
        } catch {
            return nil
        }
        return present.isSettled && present.digester.count > 0 ? present : nil
    }
}
