import Glibc
import Synchronization
import TransferCodec
package import TransferModel
import TransferSystem

/// Where an upload goes that is not complete, and what is done about names that are taken.
package typealias UploadTarget = (path: RelativePath, conflict: ConflictPolicy)

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
                try staged.publish(into: incoming.directory, as: StagedFile.resumableName(id))
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
