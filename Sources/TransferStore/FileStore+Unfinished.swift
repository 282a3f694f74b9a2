internal import CLinux
import Glibc
import Synchronization
import TransferCodec
package import TransferModel
package import TransferPorts
import TransferSystem

/// Parts of unfinished uploads. They are in the incoming directory under their upload ids until the upload is
/// published, cancelled, or expired.
extension FileStore {
    /// The part of an upload, with the bytes that have arrived before, perhaps at an earlier server. The caller ensures
    /// that nothing else uses it.
    ///
    /// - Parameters:
    ///   - size: the declared size, for which space is reserved; nil if it is unknown.
    ///   - filled: see `stage`.
    ///   - quota: the client's quota; nil if it has none.
    package func resume(
        id: UploadID, size: UInt64?, filled: UInt64? = nil, quota: Quota? = nil
    ) throws(Failure) -> StagedFile {
        let hold = SpaceHold(space, client: quota, part: id)
        let quotas = [space?.quota, quota].compactMap(\.self)
        let before = quotas.map { $0.size(ofPart: id) }
        if let size { try hold?.grow(to: size) }
        do throws(Failure) {
            // An append upload is refused before anything is created or reserved, because that would stay with the
            // append upload.
            if try isAppend(id) { throw .taken }
            let staged = try openPart(id, hold)
            staged.hold = hold
            if let size { try reserve(size, filled, forPart: staged) }
            return staged
        } catch {
            // The bytes that have arrived before still count, unless the part was removed just now. So does a copy of a
            // published part, which stays. The reservation for more does not.
            let isThere = hasPart(id)
            let present = contentSize(ofPart: id)
            for (quota, size) in zip(quotas, before) { quota.release(part: id, but: isThere ? max(size, present) : 0) }
            throw error
        }
    }

    /// Bytes up to the end of the part's content, without what is reserved; 0 if there is no part.
    private func contentSize(ofPart id: UploadID) -> UInt64 {
        for name in StagedFile.resumableNames(id) {
            if let status = try? incoming.directory.status(name) { return UInt64(clamping: status.st_size) }
        }
        return 0
    }

    package func part(_ id: UploadID) -> UnfinishedPart? {
        for name in StagedFile.resumableNames(id) {
            guard let status = try? incoming.directory.status(name) else { continue }
            return UnfinishedPart(size: status.sizeOfPart, written: FileIdentity(status).modified)
        }
        return nil
    }

    private func reserve(_ size: UInt64, _ filled: UInt64?, forPart staged: StagedFile) throws(Failure) {
        do throws(Failure) {
            try reserve(size, filled, for: staged)
        } catch {
            // A request for more room than there is leaves neither a name nor reserved room.
            if staged.isNew { staged.discard() }
            throw error
        }
    }

    /// - Throws: `busy` for a new part if the limit is reached.
    private func openPart(_ id: UploadID, _ hold: SpaceHold?) throws(Failure) -> StagedFile {
        let found = try attempt("open the part of the upload") { () throws(SystemError) in
            try StagedFile.resumable(id: id, in: incoming)
        }
        if let found { return found }
        if let copy = try unpublished(id, hold) { return copy }
        guard incoming.parts.load(ordering: .relaxed) < UnfinishedContent.mostParts else {
            throw Failure(.busy, "The server has reached its limit of unfinished uploads: try again later.")
        }
        return try attempt("create a file for the upload") { () throws(SystemError) in
            try StagedFile.newResumable(id: id, in: incoming)
        }
    }

    /// Whether the upload has a part that can be resumed, or a file that records what has become of it. A part that
    /// cannot be examined counts.
    package func hasPart(_ id: UploadID) -> Bool {
        hasResumable(id) || hasName(AppendSheet.name(id)) || hasName(PublishedPart.name(id))
    }

    /// Whether the upload has a part that can be resumed.
    func hasResumable(_ id: UploadID) -> Bool { StagedFile.resumableNames(id).contains(where: hasName) }

    func hasName(_ name: String) -> Bool {
        do throws(SystemError) {
            return try incoming.directory.status(name) != nil
        } catch {
            return true
        }
    }

    /// Discards the part of an upload, if it exists. The caller ensures that nothing else uses it.
    package func removePart(_ id: UploadID) throws(Failure) {
        try attempt("remove the part of the upload") { () throws(SystemError) in
            for name in StagedFile.resumableNames(id) {
                do throws(SystemError) {
                    try incoming.directory.unlink(name)
                    incoming.parts.wrappingSubtract(1, ordering: .relaxed)
                } catch {
                    guard error.errno == ENOENT else { throw error }
                }
            }
        }
        removeSheet(id)
        forgetPublished(id)
        space?.quota?.release(part: id)
    }

    /// The number and size of unfinished uploads.
    package func unfinished() throws(Failure) -> UnfinishedContent {
        var found = UnfinishedContent()
        try forEachPart { name, status in
            found.count += 1
            found.bytes = found.bytes.addingClamped(status.space)
        }
        return found
    }

    /// Removes files that cannot be resumed: parts without an upload id, which a server left when it died, and second
    /// names of published files, which a power cut may leave on a file system without a journal. Second names must be
    /// removed early: once another file has replaced the published one, its second name looks like a part.
    ///
    /// Call it before the first upload.
    package func removeLeftovers() throws(Failure) -> UnfinishedContent {
        try restoreAppend()
        try keepInterrupted()
        let removed = Result { () throws(Failure) in
            try removeParts { name, _ in StagedFile.upload(ofPart: name) == nil }
        }
        // A part may have had one of the removed names as well, so other names are counted only now. Removing a second
        // name frees no room, so these are not reported.
        _ = try removeParts { _, status in status.st_nlink > 1 }
        return try removed.get()
    }

    /// Renames parts that a server was syncing when it died, so that their uploads can be resumed. A client that has
    /// verified its blocks may have nothing left to send them from.
    private func keepInterrupted() throws(Failure) {
        try attempt("look through the folder of incoming parts") { () throws(SystemError) in
            let folder = incoming.directory
            for name in try folder.names() {
                if let id = StagedFile.upload(ofPart: name), name == StagedFile.interruptedName(id),
                    try folder.status(StagedFile.resumableName(id)) != nil, (try? folder.unlink(name)) != nil
                {
                    // A server has copied the part, and died before it could remove this name.
                    incoming.parts.wrappingSubtract(1, ordering: .relaxed)
                }
                guard let id = StagedFile.upload(ofWithdrawn: name), !hasResumable(id),
                    try folder.status(name)?.st_nlink == 1
                else { continue }
                // A part that cannot be renamed is removed as a leftover.
                try? take(name, as: StagedFile.interruptedName(id))
            }
        }
    }

    /// Renames a part that already has the upload's attributes. Its permissions may forbid writing, and its time may make
    /// the part expired, so both are reset.
    ///
    /// - Parameter folder: the folder that has the part; nil for the folder of incoming parts.
    func take(_ part: String, from folder: DirectoryHandle? = nil, as name: String) throws(SystemError) {
        let (disk, source) = (incoming.directory.disk, (folder ?? incoming.directory).number)
        try? disk.setPermissions(source, part, 0o600)
        try? disk.setLinkTime(source, part, .now)
        try disk.rename(source, part, to: (incoming.directory.number, name))
        incoming.parts.wrappingAdd(1, ordering: .relaxed)
    }

    /// Removes unfinished uploads that have expired.
    ///
    /// - Parameters:
    ///   - isOld: whether an upload that was last written at a moment has expired; seconds since 1970.
    ///   - isInUse: whether a connection works on the upload.
    package func removeUnfinished(
        where isOld: (Int) -> Bool, unless isInUse: (UploadID) -> Bool
    ) throws(Failure) -> UnfinishedContent {
        try removeSheets(where: isOld, unless: isInUse)
        return try removeParts { name, status in
            guard isOld(status.st_mtim.tv_sec), let id = StagedFile.upload(ofPart: name) else { return false }
            return !isInUse(id)
        }
    }

    /// - Throws: the first error, after all parts were tried.
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
                // A part that has another name as well was published; its sheet records the outcome until the end is
                // noted.
                if status.st_nlink <= 1 || (try? isWhole(id)) == false { removeSheet(id) }
                if status.st_nlink <= 1 { forgetPublished(id) }
                // A power cut may have left both names under which it can be resumed. The other one still counts.
                space?.quota?.release(part: id, but: self.part(id)?.size ?? 0)
            } else if let id = StagedFile.upload(ofWithdrawn: name) {
                // A power cut may have left the previous name as well.
                space?.quota?.release(part: id, but: self.part(id)?.size ?? 0)
            }
            removed.count += 1
            removed.bytes = removed.bytes.addingClamped(status.space)
        }
        if let failure { throw Failure(failure, doing: "remove parts of uploads that cannot be resumed") }
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
    /// Bytes that the file takes on disk (stat(3type), st_blocks).
    var space: UInt64 {
        let (bytes, overflow) = UInt64(clamping: st_blocks).multipliedReportingOverflow(by: 512)
        return overflow ? .max : bytes
    }
}

/// Append uploads. Their bytes are kept like those of other unfinished uploads; a sheet beside them records how many
/// are durable.
extension FileStore {
    /// Creates the files of an append upload. They are not durable until `keep` is first called.
    ///
    /// - Parameters:
    ///   - size: the declared size, for which space is reserved; nil if it is unknown.
    ///   - function: digests the content.
    ///   - declaration: at most `AppendSheet.mostDeclared` bytes.
    package func makeAppendable(
        id: UploadID, size: UInt64?, function: DigestFunction = .xxh128, declaration: [UInt8], quota: Quota? = nil
    ) throws(Failure) -> AppendableFile {
        guard declaration.count <= AppendSheet.mostDeclared else {
            throw Failure(.malformedFrame, "The path and attributes of the upload are too long.")
        }
        let staged = try resume(id: id, size: size, quota: quota)
        guard staged.isNew else {
            // Give back the room that `resume` has just reserved.
            staged.giveBackRoom()
            throw .taken
        }
        do throws(SystemError) {
            return AppendableFile(staged, try AppendSheet.make(id, in: incoming.directory, function, declaration), id)
        } catch {
            staged.discard()
            throw Failure(error, doing: "create a file for the upload")
        }
    }

    /// An append upload that was begun before, perhaps at an earlier server. The caller ensures that nothing else uses
    /// it.
    ///
    /// - Parameter target: returns the target of an upload from its declaration; nil if the upload has ended or has
    ///   no target.
    /// - Returns: nil if there is no such upload.
    package func appendable(
        id: UploadID, quota: Quota? = nil,
        to target: (_ declaration: [UInt8], _ function: DigestFunction) throws(Failure) -> UploadTarget? = { _, _ in nil
        }
    ) throws(Failure) -> AppendableFile? {
        let sheet = try attempt("open the upload") { () throws(SystemError) in
            try AppendSheet.find(id, in: incoming.directory)
        }
        guard let sheet else {
            // The sheet was never complete, because the machine failed when it was created; no client has heard of the
            // upload.
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
        // Bytes beyond the kept ones were never reported to the client.
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

    /// Whether the upload is an append upload.
    func isAppend(_ id: UploadID) throws(Failure) -> Bool {
        try attempt("look at the part of the upload") { () throws(SystemError) in
            try incoming.directory.status(AppendSheet.name(id)) != nil
        }
    }

    /// Removes the expired sheets and notes of published uploads.
    ///
    /// - Parameter isOld: whether a file that was last written at a moment has expired; seconds since 1970.
    func removeSheets(where isOld: (Int) -> Bool, unless isInUse: (UploadID) -> Bool) throws(Failure) {
        try attempt("look through the folder of incoming parts") { () throws(SystemError) in
            let folder = incoming.directory
            for name in try folder.names() {
                guard let id = AppendSheet.upload(of: name) ?? PublishedPart.upload(of: name), !isInUse(id) else {
                    continue
                }
                // A sheet that cannot be examined does not prevent the removal of the others.
                guard let status = try? folder.status(name), isOld(status.st_mtim.tv_sec), !hasResumable(id)
                else { continue }
                try? folder.unlink(name)
            }
        }
    }

    /// Whether the sheet of an upload records that all bytes have arrived.
    func isWhole(_ id: UploadID) throws(SystemError) -> Bool {
        try AppendSheet.find(id, in: incoming.directory)?.whole != nil
    }

    /// Removes the sheet of an upload whose bytes are removed.
    func removeSheet(_ id: UploadID) { try? incoming.directory.unlink(AppendSheet.name(id)) }

    /// Gives back the names of parts that were being published when a server died: all of their bytes were durable
    /// before. Sheets of published uploads stay, because their end may not have been noted; other sheets without a part
    /// are removed.
    ///
    /// Call it before the first upload, and before withdrawn parts are removed.
    func restoreAppend() throws(Failure) {
        try attempt("look through the folder of incoming parts") { () throws(SystemError) in
            let folder = incoming.directory
            let names = try folder.names()
            for name in names {
                guard let id = StagedFile.upload(ofWithdrawn: name), try folder.status(AppendSheet.name(id)) != nil,
                    try folder.status(StagedFile.resumableName(id)) == nil
                else { continue }
                try take(name, as: StagedFile.resumableName(id))
            }
            for name in names {
                // A sheet that cannot be read stays, and does not prevent the removal of the others.
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

/// Append uploads that a server published without noting their end, because it died. Their clients know how many bytes
/// had arrived, and that number must not shrink, so such an upload becomes unfinished again, as a copy of the published
/// file, and is ended once more.
extension FileStore {
    /// Creates the part of such an upload again as a copy: the published file stays as it is, and after a failed sync
    /// the bytes are written again.
    ///
    /// - Returns: whether the part exists now.
    func bringBack(
        _ id: UploadID, _ sheet: AppendSheet, quota: Quota?,
        to target: (_ declaration: [UInt8], _ function: DigestFunction) throws(Failure) -> UploadTarget?
    ) throws(Failure) -> Bool {
        let whole = try attempt("read the stored part") { () throws(SystemError) in try sheet.whole }
        guard let whole, let target = try target(sheet.declaration, sheet.function) else { return false }
        // Reserve the room, or fail, before anything is read.
        let staged = try stage(id: id, size: whole.size, permissions: nil, quota: quota)
        do throws(Failure) {
            guard let file = try find(whole.digest, size: whole.size, as: target),
                try copy(file, to: staged, whole)
            else {
                staged.discard()
                return false
            }
            try attempt("create the file for the upload again") { () throws(SystemError) in
                let (committer, failures) = (incoming.committer, staged.failures)
                let errors = committer.commit([staged], bytes: whole.size, since: failures)
                for case let error? in errors { throw error }
                try staged.giveName(StagedFile.resumableName(id), in: incoming.directory)
                for case let error? in committer.commit([incoming.directory], since: failures) { throw error }
                // The slot that was only noted counts as durable from now on.
                try sheet.settle(whole.sequence)
            }
        } catch {
            staged.discard()
            // The name may not be durable, so it goes; the next request creates it again.
            try? incoming.directory.unlink(StagedFile.resumableName(id))
            throw error
        }
        incoming.parts.wrappingAdd(1, ordering: .relaxed)
        staged.hold?.giveBack()
        return true
    }

    /// - Returns: false if the file has changed since.
    private func copy(
        _ file: FoundFile, to staged: StagedFile, _ whole: WholeAppend
    ) throws(Failure) -> Bool {
        let digester = ContentDigester(whole.digest.algorithm.function)
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

    /// Bytes that are copied at once.
    private static let copySize = 256 << 10
}

/// A complete append upload, as its sheet describes it.
struct WholeAppend {
    /// The sequence number of the sheet's slot.
    let sequence: UInt64
    let size: UInt64
    let digest: Digest
}

extension AppendSheet {
    /// The complete upload that the sheet describes; nil if it is not complete. The bytes themselves are not checked.
    var whole: WholeAppend? {
        get throws(SystemError) {
            guard let slot = try slots().first?.slot, slot.offset == slot.total,
                let count = Int(exactly: slot.offset / UInt64(Limits.blockSize)), let blocks = try digests(count)
            else { return nil }
            let digest = ContentDigester.digest(function, size: slot.offset, ofBlocks: blocks + slot.tail)
            return WholeAppend(sequence: slot.sequence, size: slot.offset, digest: digest)
        }
    }
}
