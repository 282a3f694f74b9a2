import Glibc
import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// What the server has said of sources that may go.
struct SourceAnswers {
    /// Of witnesses, and of what has no upload's id.
    var paths: [PathKey: StatReport] = [:]

    /// Of files that it has still, by the ids of their uploads.
    var uploads: [UploadID: UploadResult] = [:]

    /// Why it has not answered to all.
    var failure: TransferFailure?
}

/// A source that may go when the server has said that it has its content, and what it sees of the witness beside it.
struct MarkedSource {
    /// Where the server would see the witness if it had the source's directory for the stored file's.
    let witnessPath: String

    /// What has to be there still.
    private enum Sent {
        case file(SourceFile.Identity, Digest)
        case link(SentLink)
        case folder
    }

    private let report: UploadReport
    private let storedPath: String
    private let sent: Sent
    private let mayHaveReplaced: Bool
    private let directory: SourceDirectory
    private let name: String
    private let witness: SourceWitness

    /// Bytes read at once to compare.
    private static let readSize = 1 << 20

    /// - Parameter mayHaveReplaced: whether the push would have put its content in the place of a file.
    /// - Throws: `SourceKept` where it is clear that it stays; then there is no witness.
    init(
        _ report: UploadReport, mayHaveReplaced: Bool, _ directories: inout SourceDirectories
    ) throws(SourceKept) {
        guard [.committed, .alreadyStored].contains(report.result), report.isDurable, let stored = report.storedPath
        else { throw .notDurable }
        (self.report, storedPath, sent) = (report, stored, try Self.sent(report))
        self.mayHaveReplaced = mayHaveReplaced
        do throws(SystemError) {
            (directory, name) = try directories.directory(
                of: report.place ?? SourcePlace(named: report.source, followsLink: false))
        } catch {
            throw SourceKept(reason: Failure.unreadable(error).message)
        }
        try Self.check(name, in: directory, sent)
        let folder = stored.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(stored[...$0]) } ?? ""
        do throws(SystemError) {
            witness = try SourceWitness(
                beside: name, in: directory, isFile: report.form == .file || report.form == .hardLink,
                directories.key)
        } catch {
            throw .unremovable(error)
        }
        witnessPath = folder + witness.name
    }

    /// The upload that the server is asked about; nil where the source has no upload of its own.
    static func lookedUp(_ report: UploadReport) -> UploadID? {
        report.form == .file && report.uploadID != .none ? report.uploadID : nil
    }

    /// Has the server asked what it sees of the witness, and of a source that has no upload.
    func ask(_ queue: RequestQueue, _ events: EventQueue<StatReport>) {
        queue.add(StatTaker(witnessPath, remote: witnessPath, queue, events).asked)
        guard Self.lookedUp(report) == nil else { return }
        queue.add(StatTaker(storedPath, remote: storedPath, queue, events, wantsAll: true).asked)
    }

    /// Removes it, and the witness in any case.
    func remove(_ said: SourceAnswers) throws(SourceKept) {
        do throws(SystemError) {
            try witness.remove()
        } catch {
            throw SourceKept(reason: "Its directory changed while the server was asked for it.")
        }
        try checkStored(said)
        try checkApart(said)
        switch sent {
        case .file(let pushed, let digest): try remove(pushed, digest)
        case .link: try removeLink()
        case .folder: try removeFolder()
        }
    }

    private static func sent(_ report: UploadReport) throws(SourceKept) -> Sent {
        switch report.form {
        case .file, .hardLink:
            guard let digest = report.digest else { throw .notDurable }
            guard let pushed = report.file else { throw SourceKept(reason: "It is no file.") }
            return .file(pushed, digest)
        case .link:
            guard let link = report.link else { throw SourceKept(reason: "It is no symbolic link.") }
            return .link(link)
        case .folder: return .folder
        }
    }

    private func removeLink() throws(SourceKept) {
        try Self.check(name, in: directory, sent)
        try takeAway()
    }

    /// Removes what was sent, and nothing else: between a look and the removal somebody may write, or put something else in its
    /// place. So it gets a name of this program's first. Under that nobody opens it, and what it is then goes, or gets its name back. So it
    /// does when somebody has opened it before: what he writes later would go with it.
    private func takeAway() throws(SourceKept) {
        do throws(SystemError) {
            try directory.rename(name, to: witness.takenName)
        } catch {
            guard [EINVAL, ENOSYS].contains(error.errno) else { throw .unremovable(error) }
            try Self.check(name, in: directory, sent)
            do throws(SystemError) { try directory.unlink(name) } catch { throw .unremovable(error) }
            return
        }
        do throws(SourceKept) {
            try Self.check(witness.takenName, in: directory, sent)
        } catch {
            throw giveBack(error)
        }
        do throws(SystemError) { try directory.unlink(witness.takenName) } catch { throw giveBack(.unremovable(error)) }
    }

    /// Lets something have its name again, or a numbered one if something else has got that.
    ///
    /// - Returns: why it was kept, and what it is called.
    private func giveBack(_ reason: SourceKept) -> SourceKept {
        guard let other = directory.rename(witness.takenName, toFree: name) else {
            return SourceKept(reason: "\(reason.reason) It is called '\(witness.takenName.escapedForDisplay)' now.")
        }
        guard !other.hasSameBytes(as: name) else { return reason }
        let message = "Something else has its name by now; it is called '\(other.escapedForDisplay)'."
        return SourceKept(reason: "\(reason.reason) \(message)")
    }

    private func removeFolder() throws(SourceKept) {
        do throws(SystemError) {
            try directory.removeDirectory(name)
        } catch {
            // EINVAL and EBUSY are for a directory that is called `.`, or where something is mounted.
            guard [ENOTEMPTY, EEXIST, EINVAL, EBUSY].contains(error.errno) else { throw .unremovable(error) }
            throw SourceKept(reason: "Something is left in it.", isOccupied: true)
        }
    }

    private func remove(_ pushed: SourceFile.Identity, _ digest: Digest) throws(SourceKept) {
        do throws(Failure) {
            let file = try SourceFile(SourcePlace(name, in: directory))
            guard file.identity == pushed else { throw .changed }
            if !report.isRead, try Self.digest(of: file, digest.algorithm.function) != digest { throw .changed }
            try file.checkUnchanged()
        } catch {
            let isOther = error.code == .sourceChanged
            throw SourceKept(reason: isOther ? SourceKept.changed : error.message)
        }
        try takeAway()
    }

    /// Somebody may have replaced, moved or removed what was acknowledged.
    ///
    /// - Throws: `SourceKept` unless the server has said that it is stored as it was acknowledged.
    private func checkStored(_ said: SourceAnswers) throws(SourceKept) {
        guard case .file(_, let digest) = sent, let id = Self.lookedUp(report) else { return try checkPath(said) }
        guard let found = said.uploads[id] else {
            guard said.failure == nil else { throw .unanswered("whether it still has it", said.failure) }
            throw .isStoredNoMore
        }
        guard found.digest == digest, found.isDurable, let path = found.storedPath, path.hasSameBytes(as: storedPath)
        else { throw .isStoredNoMore }
    }

    /// The same of what is no upload: a name of a file, a symbolic link, a folder.
    private func checkPath(_ said: SourceAnswers) throws(SourceKept) {
        guard let answer = said.paths[PathKey(storedPath)] else {
            throw .unanswered("whether it still has it", said.failure)
        }
        let isStored =
            switch sent {
            case .file(_, let digest): answer.entry?.digest == digest
            case .link(let link): answer.entry?.extras?.target == link.target
            case .folder: answer.entry?.isDirectory ?? false
            }
        guard isStored else { throw .isStoredNoMore }
    }

    /// - Throws: `SourceKept` unless the source and the stored file are two.
    private func checkApart(_ said: SourceAnswers) throws(SourceKept) {
        guard let answer = said.paths[PathKey(witnessPath)] else {
            throw .unanswered("whether it has a copy of its own", said.failure)
        }
        switch answer.result {
        case .notFound: return
        case .completed:
            throw SourceKept(reason: "It lies in the server's own directory, and may be what is stored there.")
        // Who may only send gets no answer. What he has just sent is another file than the one it was read from, unless it
        // took its place.
        case .forbidden where report.result == .committed && report.isRead && !mayHaveReplaced: return
        case .forbidden:
            throw SourceKept(
                reason: "This client may not see what is stored, so it cannot tell whether the server has its own copy."
            )
        default: throw SourceKept(reason: "The server does not say whether it has a copy of its own: \(answer.message)")
        }
    }

    /// A look that costs nothing: before anything is made, so that what somebody has open for writing does not even lose its name
    /// for a moment, and again right before it goes.
    private static func check(
        _ name: String, in directory: SourceDirectory, _ sent: Sent
    ) throws(SourceKept) {
        do throws(Failure) {
            guard case .file(let pushed, _) = sent else { return try check(name, in: directory, beside: sent) }
            let file = try SourceFile(SourcePlace(name, in: directory))
            guard !file.isOpenForWriting else { throw .openForWriting }
            guard file.identity == pushed else { throw .changed }
            // Who has closed it since it was opened here may have written before.
            try file.checkUnchanged()
        } catch {
            throw SourceKept(reason: error.code == .sourceChanged ? SourceKept.changed : error.message)
        }
    }

    /// A symbolic link has to say what it said. Of a directory it shows when it goes whether it is one, and empty.
    private static func check(
        _ name: String, in directory: SourceDirectory, beside sent: Sent
    ) throws(Failure) {
        guard case .link(let link) = sent else { return }
        do throws(SystemError) {
            guard try directory.link(name) == link else { throw SystemError(errno: ESTALE, call: "readlink") }
        } catch {
            throw .changed
        }
    }

    private static func digest(of file: SourceFile, _ function: DigestFunction) throws(Failure) -> Digest {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: readSize, alignment: 4096)
        defer { buffer.deallocate() }
        let digester = ContentDigester(function)
        while true {
            let count = try file.read(into: buffer)
            guard count > 0 else { return digester.finish().digest }
            digester.update(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { _, _ in }
        }
    }
}

extension Failure {
    fileprivate static let openForWriting = Failure(
        .sourceUnreadable, "Somebody has it open for writing.")
}

extension SourceKept {
    fileprivate static let notDurable = SourceKept(reason: "The server has not said that it is durable.")

    fileprivate static let changed = "It has changed since it was pushed."

    fileprivate static let isStoredNoMore = SourceKept(
        reason: "The server does not have it under that name any more: it was replaced, moved or removed since.")

    /// - Parameter question: whether something is so.
    fileprivate static func unanswered(_ question: String, _ failure: TransferFailure?) -> SourceKept {
        let reason = failure.map { ": \($0.message)" } ?? "."
        return SourceKept(reason: "The server could not be asked \(question)" + reason)
    }

    fileprivate static func unremovable(_ error: SystemError) -> SourceKept {
        switch error.errno {
        case EACCES, EPERM, EROFS: SourceKept(reason: "This user may not change the directory that it is in.")
        default: SourceKept(reason: "It could not be removed: \(error).")
        }
    }
}
