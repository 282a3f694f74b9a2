internal import CLinux
import Glibc
import Synchronization
import TransferCodec
package import TransferModel
package import TransferPorts
import TransferSystem

/// Parts of uploads that are not complete. They lie in the incoming directory under the uploads' ids until the upload is
/// published, taken back, or too old.
extension FileStore {
    /// The part of an upload, with what has arrived of it before, perhaps under an earlier server. Whoever asks must see
    /// to it that nobody else has it.
    ///
    /// - Parameters:
    ///   - size: what the client declared, or nothing; its space is reserved.
    ///   - filled: as in `stage`.
    ///   - quota: of the client, where it has one.
    package func resume(
        id: UploadID, size: UInt64?, filled: UInt64? = nil, quota: Quota? = nil
    ) throws(Failure) -> StagedFile {
        let hold = SpaceHold(space, client: quota, part: id)
        let quotas = [space?.quota, quota].compactMap(\.self)
        let before = quotas.map { $0.size(ofPart: id) }
        if let size { try hold?.grow(to: size) }
        do throws(Failure) {
            // Before anything is made or reserved, which would stay with what is another upload's.
            if try isAppend(id) { throw .taken }
            let staged = try openPart(id)
            staged.hold = hold
            if let size { try reserve(size, filled, forPart: staged) }
            return staged
        } catch {
            // What has arrived before stays, where it has not just lost its name here; the promise of more does not.
            let isThere = hasPart(id)
            for (quota, size) in zip(quotas, before) { quota.release(part: id, but: isThere ? size : 0) }
            throw error
        }
    }

    package func part(_ id: UploadID) -> UnfinishedPart? {
        (try? incoming.directory.status(StagedFile.resumableName(id)))?.map { status in
            UnfinishedPart(size: status.sizeOfPart, written: FileIdentity(status).modified)
        }
    }

    private func reserve(_ size: UInt64, _ filled: UInt64?, forPart staged: StagedFile) throws(Failure) {
        do throws(Failure) {
            try reserve(size, filled, for: staged)
        } catch {
            // Whoever asks for more than there is must leave nothing: neither a name nor room.
            if staged.isNew { staged.discard() }
            throw error
        }
    }

    /// - Throws: `busy` for a new one, when there are as many as may be.
    private func openPart(_ id: UploadID) throws(Failure) -> StagedFile {
        let found = try attempt("open the part of the upload") { () throws(SystemError) in
            try StagedFile.resumable(id: id, in: incoming)
        }
        if let found { return found }
        guard incoming.parts.load(ordering: .relaxed) < UnfinishedContent.mostParts else {
            throw Failure(.busy, "The server keeps as many unfinished uploads as it can.")
        }
        return try attempt("make a part for the upload") { () throws(SystemError) in
            try StagedFile.newResumable(id: id, in: incoming)
        }
    }

    /// Whether there is a part of the upload that somebody could go on with, or what says that there was and what has become of
    /// it. One that cannot be looked at counts.
    package func hasPart(_ id: UploadID) -> Bool {
        hasName(StagedFile.resumableName(id)) || hasName(AppendSheet.name(id))
    }

    /// The same without what says what has become of it.
    func hasResumable(_ id: UploadID) -> Bool { hasName(StagedFile.resumableName(id)) }

    private func hasName(_ name: String) -> Bool {
        do throws(SystemError) {
            return try incoming.directory.status(name) != nil
        } catch {
            return true
        }
    }

    /// Throws the part of an upload away, if there is one. Whoever asks must see to it that nobody else has it.
    package func removePart(_ id: UploadID) throws(Failure) {
        try attempt("remove the part of the upload") { () throws(SystemError) in
            do throws(SystemError) {
                try incoming.directory.unlink(StagedFile.resumableName(id))
                incoming.parts.wrappingSubtract(1, ordering: .relaxed)
            } catch {
                guard error.errno == ENOENT else { throw error }
            }
        }
        removeSheet(id)
        space?.quota?.release(part: id)
    }

    /// What there is of unfinished uploads.
    package func unfinished() throws(Failure) -> UnfinishedContent {
        var found = UnfinishedContent()
        try forEachPart { name, status in
            found.count += 1
            found.bytes = found.bytes.addingClamped(status.space)
        }
        return found
    }

    /// Removes what nobody can resume: parts that no upload's id stands for, which a server that died has left, and second names
    /// of what was published. A power cut may leave those where the file system has no journal. They go before anything else
    /// happens: once another file has replaced the published one, nothing tells its second name from a part.
    ///
    /// Call it before the first upload.
    package func removeLeftovers() throws(Failure) -> UnfinishedContent {
        try restoreAppend()
        let removed = Result { () throws(Failure) in
            try removeParts { name, _ in StagedFile.upload(ofPart: name) == nil }
        }
        // A part may have had one of those names, too. With a second name nothing goes that takes room.
        _ = try removeParts { _, status in status.st_nlink > 1 }
        return try removed.get()
    }

    /// Removes unfinished uploads that nothing was added to for long.
    ///
    /// - Parameters:
    ///   - isOld: whether what was written last at a moment goes: seconds since 1970.
    ///   - isInUse: whether somebody works on the upload.
    package func removeUnfinished(
        where isOld: (Int) -> Bool, unless isInUse: (UploadID) -> Bool
    ) throws(Failure) -> UnfinishedContent {
        try removeSheets(where: isOld, unless: isInUse)
        return try removeParts { name, status in
            guard isOld(status.st_mtim.tv_sec), let id = StagedFile.upload(ofPart: name) else { return false }
            return !isInUse(id)
        }
    }

    /// - Throws: when all have been tried, why the first of them could not be removed.
    private func removeParts(where isUseless: (String, stat) -> Bool) throws(Failure) -> UnfinishedContent {
        var removed = UnfinishedContent()
        var failure: SystemError?
        try forEachPart { name, status in
            guard isUseless(name, status) else { return }
            do throws(SystemError) {
                if status.isDirectory {
                    try incoming.directory.disk.removeDirectory(incoming.directory.number, name)
                } else {
                    try incoming.directory.unlink(name)
                }
            } catch {
                failure = failure ?? error
                return
            }
            if let id = StagedFile.upload(ofPart: name) {
                incoming.parts.wrappingSubtract(1, ordering: .relaxed)
                // What has another name, too, was published: the sheet says what it has become, until its end is noted.
                if status.st_nlink <= 1 || (try? isWhole(id)) == false { removeSheet(id) }
                space?.quota?.release(part: id)
            } else if let id = StagedFile.upload(ofWithdrawn: name) {
                // A power cut may have left the name that it had before, too.
                space?.quota?.release(part: id, but: self.part(id)?.size ?? 0)
            }
            removed.count += 1
            removed.bytes = removed.bytes.addingClamped(status.space)
        }
        if let failure { throw Failure(failure, doing: "remove parts that nobody can go on with") }
        return removed
    }

    private func forEachPart(_ body: (String, stat) throws(SystemError) -> Void) throws(Failure) {
        try attempt("look through the folder of incoming parts") { () throws(SystemError) in
            for name in try incoming.directory.names() where name.hasSuffix(StagedFile.partSuffix) {
                if let status = try incoming.directory.status(name) { try body(name, status) }
            }
        }
    }
}

extension stat {
    /// Bytes on disk (stat(3type), st_blocks).
    var space: UInt64 {
        let (bytes, overflow) = UInt64(clamping: st_blocks).multipliedReportingOverflow(by: 512)
        return overflow ? .max : bytes
    }
}

/// Append uploads. Their bytes lie among the other unfinished ones and go with them; a sheet beside them says
/// how far they are durable.
extension FileStore {
    /// Makes a place for one. Nothing of it is durable before it is first kept.
    ///
    /// - Parameters:
    ///   - size: what the client declared, or nothing; its space is reserved.
    ///   - declaration: up to `AppendSheet.mostDeclared` bytes.
    package func makeAppendable(
        id: UploadID, size: UInt64?, declaration: [UInt8], quota: Quota? = nil
    ) throws(Failure) -> AppendableFile {
        guard declaration.count <= AppendSheet.mostDeclared else {
            throw Failure(.malformedFrame, "What is declared of the upload is too long.")
        }
        let staged = try resume(id: id, size: size, quota: quota)
        guard staged.isNew else {
            // What was reserved for it a moment ago.
            staged.giveBackRoom()
            throw .taken
        }
        do throws(SystemError) {
            return AppendableFile(staged, try AppendSheet.make(id, in: incoming.directory, declaration), id)
        } catch {
            staged.discard()
            throw Failure(error, doing: "make a place for the upload")
        }
    }

    /// One that was begun before, perhaps under an earlier server. Whoever asks must see to it that nobody else has it.
    ///
    /// - Parameter target: where an upload goes that was declared so; nothing for one that has ended, or goes nowhere.
    /// - Returns: nothing where there is none.
    package func appendable(
        id: UploadID, quota: Quota? = nil,
        to target: (_ declaration: [UInt8]) throws(Failure) -> UploadTarget? = { _ in nil }
    ) throws(Failure) -> AppendableFile? {
        let sheet = try attempt("open the upload") { () throws(SystemError) in
            try AppendSheet.find(id, in: incoming.directory)
        }
        guard let sheet else {
            // One that was never whole, because the machine has failed when it was made: nobody was told of it.
            if try isAppend(id) { try removePart(id) }
            return nil
        }
        var found = try openAppendable(id)
        if found == nil, try bringBack(id, sheet, quota: quota, to: target) { found = try openAppendable(id) }
        guard let staged = found else {
            sheet.remove()
            return nil
        }
        staged.hold = SpaceHold(space, client: quota, part: id)
        let file = try AppendableFile.found(staged, sheet, id)
        // What was written behind that and told to nobody only takes room.
        try staged.trim(to: file.kept.offset)
        staged.giveBackRoom()
        try staged.hold?.grow(to: file.kept.offset)
        return file
    }

    private func openAppendable(_ id: UploadID) throws(Failure) -> StagedFile? {
        try attempt("open the part of the upload") { () throws(SystemError) in
            try StagedFile.resumable(id: id, in: incoming)
        }
    }

    /// Whether the upload is one of these.
    func isAppend(_ id: UploadID) throws(Failure) -> Bool {
        try attempt("look at the part of the upload") { () throws(SystemError) in
            try incoming.directory.status(AppendSheet.name(id)) != nil
        }
    }

    /// Sheets of what was published, and which nobody has asked for.
    ///
    /// - Parameter isOld: whether what was written at a moment goes: seconds since 1970.
    func removeSheets(where isOld: (Int) -> Bool, unless isInUse: (UploadID) -> Bool) throws(Failure) {
        try attempt("look through the folder of incoming parts") { () throws(SystemError) in
            let folder = incoming.directory
            for name in try folder.names() {
                guard let id = AppendSheet.upload(of: name), !isInUse(id) else { continue }
                // One that cannot be looked at keeps no other.
                guard let status = try? folder.status(name), isOld(status.st_mtim.tv_sec), !hasResumable(id)
                else { continue }
                try? folder.unlink(name)
            }
        }
    }

    /// Whether the sheet of an upload says that all of it was there.
    func isWhole(_ id: UploadID) throws(SystemError) -> Bool {
        try AppendSheet.find(id, in: incoming.directory)?.whole != nil
    }

    /// With the bytes of an upload its sheet goes, too.
    func removeSheet(_ id: UploadID) { try? incoming.directory.unlink(AppendSheet.name(id)) }

    /// What was being published when a server died has its name back: all of it was kept before. Of what has got its name the
    /// sheet stays, because nobody may have noted that; sheets of anything else that is gone go.
    ///
    /// To be called before the first upload, and before withdrawn parts are removed.
    func restoreAppend() throws(Failure) {
        try attempt("look through the folder of incoming parts") { () throws(SystemError) in
            let folder = incoming.directory
            let names = try folder.names()
            for name in names {
                guard let id = StagedFile.upload(ofWithdrawn: name), try folder.status(AppendSheet.name(id)) != nil,
                    try folder.status(StagedFile.resumableName(id)) == nil
                else { continue }
                try folder.disk.rename(folder.number, name, to: (folder.number, StagedFile.resumableName(id)))
                incoming.parts.wrappingAdd(1, ordering: .relaxed)
            }
            for name in names {
                // One that cannot be read stays, and keeps no other.
                guard let id = AppendSheet.upload(of: name), !hasResumable(id), (try? isWhole(id)) == false else {
                    continue
                }
                try? folder.unlink(name)
            }
        }
    }
}

extension Failure {
    static let taken = Failure(.contentMismatch, "The upload id is in use for other content.")
}

/// Uploads that a server has given their names and whose end it did not live to note. Their senders were told how far they are,
/// and must not be told less: such an upload is made unfinished again, from the file that it became, and is ended once more.
extension FileStore {
    /// Makes the part of such an upload again. It is a copy: what others see stays as it is, and where a sync has failed the bytes
    /// are written anew.
    ///
    /// - Returns: whether there is one now.
    func bringBack(
        _ id: UploadID, _ sheet: AppendSheet, quota: Quota?,
        to target: (_ declaration: [UInt8]) throws(Failure) -> UploadTarget?
    ) throws(Failure) -> Bool {
        let whole = try attempt("read what has arrived before") { () throws(SystemError) in try sheet.whole }
        guard let whole, let target = try target(sheet.declaration) else { return false }
        // Has the room for it, or says so before anything is read.
        let staged = try stage(id: id, size: whole.size, permissions: nil, quota: quota)
        do throws(Failure) {
            guard let file = try find(whole, as: target), try copy(file, to: staged, whole) else {
                staged.discard()
                return false
            }
            try attempt("make the part of the upload again") { () throws(SystemError) in
                let (committer, failures) = (incoming.committer, staged.failures)
                let errors = committer.commit([staged.number], bytes: whole.size, since: failures)
                for case let error? in errors { throw error }
                try staged.giveName(StagedFile.resumableName(id), in: incoming.directory)
                for case let error? in committer.commit([incoming.directory.number], since: failures) { throw error }
                // What was only noted counts from now on.
                try sheet.settle(whole.sequence)
            }
        } catch {
            staged.discard()
            // A name that may not be durable is none: whoever asks next has it made again.
            try? incoming.directory.unlink(StagedFile.resumableName(id))
            throw error
        }
        incoming.parts.wrappingAdd(1, ordering: .relaxed)
        staged.hold?.giveBack()
        return true
    }

    /// The file of that content under a name that the upload may have got. Of others that are as long a few are read: who has made
    /// many of them must not have all of them read.
    private func find(_ whole: WholeAppend, as target: UploadTarget) throws(Failure) -> FoundFile? {
        var path = target.path
        var looks = 0
        for number in 1...ConflictPolicy.mostNumbers {
            let directory = try attempt("look at \(path)") { () throws(SystemError) in try openIfThere(path.parent) }
            guard let directory else { return nil }
            let name = TargetName(directory: directory, name: String(path.name))
            if try name.version()?.size == whole.size {
                looks += 1
                guard looks <= Self.mostLooks else { return nil }
                if let file = try name.find(size: whole.size, digest: whole.digest) { return file }
            }
            guard target.conflict == .keepBoth, try !name.isFree(), let next = try? target.path.numbered(number) else {
                return nil
            }
            path = next
        }
        return nil
    }

    private func openIfThere(_ path: RelativePath?) throws(SystemError) -> DirectoryHandle? {
        do throws(SystemError) {
            return try tree.open(path)
        } catch {
            switch error.errno {
            case ENOENT, ENOTDIR, ELOOP, EXDEV: return nil
            default: throw error
            }
        }
    }

    /// - Returns: false where somebody has changed the file since.
    private func copy(
        _ file: FoundFile, to staged: StagedFile, _ whole: WholeAppend
    ) throws(Failure) -> Bool {
        let digester = ContentDigester(AppendMark.function)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.copySize, alignment: 4096)
        defer { buffer.deallocate() }
        while digester.size < whole.size {
            let count = try attempt("read what was published") { () throws(SystemError) in
                try staged.disk.read(file.number, into: buffer, at: digester.size)
            }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            guard count > 0, UInt64(count) <= whole.size - digester.size else { return false }
            try staged.write(bytes, at: digester.size)
            digester.update(bytes) { _, _ in }
        }
        return digester.finish().digest == whole.digest
    }

    /// Files of the upload's size that are read.
    private static let mostLooks = 4

    /// Bytes copied at once.
    private static let copySize = 256 << 10
}

/// What the sheet of an upload says that is all there.
struct WholeAppend {
    /// Of the slot that says so.
    let sequence: UInt64
    let size: UInt64
    let digest: Digest
}

extension AppendSheet {
    /// - Returns: nothing where the upload is not all there, as far as was noted. Whether its bytes are is to be seen.
    var whole: WholeAppend? {
        get throws(SystemError) {
            guard let slot = try slots().first?.slot, slot.offset == slot.total,
                let count = Int(exactly: slot.offset / UInt64(Limits.blockSize)), let blocks = try digests(count)
            else { return nil }
            let digest = ContentDigester.digest(AppendMark.function, size: slot.offset, ofBlocks: blocks + slot.tail)
            return WholeAppend(sequence: slot.sequence, size: slot.offset, digest: digest)
        }
    }
}
