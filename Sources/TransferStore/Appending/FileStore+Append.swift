internal import CLinux
import Glibc
import Synchronization
package import TransferModel
import TransferSystem

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
