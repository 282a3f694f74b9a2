import Glibc
import TransferCodec
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// What the server has answered about sources that may be removed.
struct SourceAnswers {
    /// Answers about witnesses, and about sources that have no upload ID.
    var paths: [PathKey: StatReport] = [:]

    /// Results of the uploads that the server still has, by ID.
    var uploads: [UploadID: UploadResult] = [:]

    /// Why some questions have no answer; nil if all have one.
    var failure: TransferFailure?
}

/// A source and the witness beside it. The source is removed once the server confirms that it has its own copy.
struct MarkedSource {
    /// The path under which the server would see the witness if the stored file were in the source's directory.
    let witnessPath: String

    /// What was sent: the source is removed only if it is still the same.
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

    /// Bytes read at once to compute a digest.
    private static let readSize = 1 << 20

    /// - Parameter mayHaveReplaced: whether the push could have put the content in the place of an existing file.
    /// - Throws: `SourceKept` if it is already clear that the source stays; then no witness is made.
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

    /// The upload that the server is asked about; nil if the source has no separate upload.
    static func lookedUp(_ report: UploadReport) -> UploadID? {
        report.form == .file && report.uploadID != .none ? report.uploadID : nil
    }

    /// Asks the server for the witness, and for the stored path if the source has no separate upload.
    func ask(_ queue: RequestQueue, _ events: EventQueue<StatReport>) {
        queue.add(StatTaker(witnessPath, remote: witnessPath, queue, events).asked)
        guard Self.lookedUp(report) == nil else { return }
        queue.add(StatTaker(storedPath, remote: storedPath, queue, events, wantsAll: true).asked)
    }

    /// Removes the source if the server's answers allow it, and the witness in any case.
    func remove(_ said: SourceAnswers) throws(SourceKept) {
        do throws(SystemError) {
            try witness.remove()
        } catch {
            throw SourceKept(reason: "Its directory changed while the client asked the server about it.")
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
            guard let pushed = report.file else { throw SourceKept(reason: "It is not a file.") }
            return .file(pushed, digest)
        case .link:
            guard let link = report.link else { throw SourceKept(reason: "It is not a symbolic link.") }
            return .link(link)
        case .folder: return .folder
        }
    }

    private func removeLink() throws(SourceKept) {
        try Self.check(name, in: directory, sent)
        try takeAway()
    }

    /// Removes only what was sent. Another process may write to the source, or replace it, at any moment. So the source
    /// is first renamed to a name that only this program uses, and checked again. If it is not what was sent, or is
    /// open for writing, so that later writes would be lost, it gets its name back.
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

    /// Gives a source its name back, or a numbered name if another file has that name by now.
    ///
    /// - Returns: the reason, which also states the source's present name if the source has another name now.
    private func giveBack(_ reason: SourceKept) -> SourceKept {
        guard let other = directory.rename(witness.takenName, toFree: name) else {
            return SourceKept(reason: "\(reason.reason) It is called '\(witness.takenName.escapedForDisplay)' now.")
        }
        guard !other.hasSameBytes(as: name) else { return reason }
        let message = "Another entry has its name now; it is called '\(other.escapedForDisplay)'."
        return SourceKept(reason: "\(reason.reason) \(message)")
    }

    private func removeFolder() throws(SourceKept) {
        do throws(SystemError) {
            try directory.removeDirectory(name)
        } catch {
            // EINVAL: the directory is called `.`; EBUSY: a file system is mounted there.
            guard [ENOTEMPTY, EEXIST, EINVAL, EBUSY].contains(error.errno) else { throw .unremovable(error) }
            throw SourceKept(reason: "It is not empty.", isOccupied: true)
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

    /// Checks that the acknowledged content was not replaced, moved or removed on the server.
    ///
    /// - Throws: `SourceKept` unless the server has said that the content is stored as it was acknowledged.
    private func checkStored(_ said: SourceAnswers) throws(SourceKept) {
        guard case .file(_, let digest) = sent, let id = Self.lookedUp(report) else { return try checkPath(said) }
        guard let found = said.uploads[id] else {
            guard said.failure == nil else { throw .unanswered("whether it still has the file", said.failure) }
            throw .isStoredNoMore
        }
        guard found.digest == digest, found.isDurable, let path = found.storedPath, path.hasSameBytes(as: storedPath)
        else { throw .isStoredNoMore }
    }

    /// The same for a source without a separate upload: another name of a file, a symbolic link, a folder.
    private func checkPath(_ said: SourceAnswers) throws(SourceKept) {
        guard let answer = said.paths[PathKey(storedPath)] else {
            throw .unanswered("whether it still has the file", said.failure)
        }
        let isStored =
            switch sent {
            case .file(_, let digest): answer.entry?.digest == digest
            case .link(let link): answer.entry?.extras?.target == link.target
            case .folder: answer.entry?.isDirectory ?? false
            }
        guard isStored else { throw .isStoredNoMore }
    }

    /// - Throws: `SourceKept` unless the source and the stored file are known to be different files.
    private func checkApart(_ said: SourceAnswers) throws(SourceKept) {
        guard let answer = said.paths[PathKey(witnessPath)] else {
            throw .unanswered("whether it has its own copy", said.failure)
        }
        switch answer.result {
        case .notFound: return
        case .completed:
            throw SourceKept(reason: "It is in the server's directory, and may be the stored file itself.")
        // A client that may only send gets no answer. The stored file, which this client has just sent, is not its own
        // source, unless it replaced an existing file.
        case .forbidden where report.result == .committed && report.isRead && !mayHaveReplaced: return
        case .forbidden:
            throw SourceKept(
                reason: "This client may not read files on the server, so it cannot check whether the server "
                    + "has its own copy."
            )
        default: throw SourceKept(reason: "The server does not say whether it has its own copy: \(answer.message)")
        }
    }

    /// Checks without any change that the source is what was sent: before the witness is made, so that a file that is
    /// open for writing keeps its name all the time, and again right before the removal.
    private static func check(
        _ name: String, in directory: SourceDirectory, _ sent: Sent
    ) throws(SourceKept) {
        do throws(Failure) {
            guard case .file(let pushed, _) = sent else { return try check(name, in: directory, beside: sent) }
            let file = try SourceFile(SourcePlace(name, in: directory))
            guard !file.isOpenForWriting else { throw .openForWriting }
            guard file.identity == pushed else { throw .changed }
            // A writer that has closed the file since it was opened here can have changed it before.
            try file.checkUnchanged()
        } catch {
            throw SourceKept(reason: error.code == .sourceChanged ? SourceKept.changed : error.message)
        }
    }

    /// Compares a symbolic link with the one that was sent. A directory needs no check: its removal fails if it is not
    /// empty or is no directory.
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
        .sourceUnreadable, "A program has it open for writing.")
}

extension SourceKept {
    fileprivate static let notDurable = SourceKept(reason: "The server has not confirmed that it is durable.")

    fileprivate static let changed = "It has changed since it was pushed."

    fileprivate static let isStoredNoMore = SourceKept(
        reason: "The server no longer has it under that name: it was replaced, moved or removed.")

    /// - Parameter question: what the server was asked, as a clause that begins with "whether".
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
