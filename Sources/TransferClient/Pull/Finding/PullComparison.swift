import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// Asks whether a folder on the server is as it is here, by one digest over all that is in it. If so, only the folders in it have to
/// be asked about; otherwise it is listed.
final class PullComparison: AnswerTaker {
    /// What is here, as an earlier pull has left it.
    struct Present {
        var digester = FolderDigester()
        var files = 0
        var bytes: UInt64 = 0
        var folders: [String] = []
        /// Whether each file can be taken for what an earlier pull has stored without being read.
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

    /// A folder that is another one, or gone, or that this client may not see, is listed: the answer to that says more.
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
    /// What is in a folder here.
    ///
    /// - Parameter folder: nothing for the directory itself.
    /// - Returns: nothing where there is no such folder, or nothing in it, or something that has to be read to be known.
    func present(in folder: RelativePath?) -> PullComparison.Present? {
        guard let listing = try? list(folder) else { return nil }
        var present = PullComparison.Present()
        do throws(Failure) {
            // The rest of one that has to be listed anyway need not be looked at.
            while present.isSettled, try listing.forEach(512, { present.add($0, $1) }) == 512 {}
        } catch {
            return nil
        }
        return present.isSettled && present.digester.count > 0 ? present : nil
    }
}
