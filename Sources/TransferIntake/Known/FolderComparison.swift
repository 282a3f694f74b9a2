import Glibc
import TransferCodec
package import TransferModel
package import TransferPorts
package import TransferSystem

/// Compares what was acknowledged for the files of one folder, and still holds, with what a caller says by a digest: what
/// `IntakeSession.lookup` would answer for each, without a word about any of them. Belongs to one task at a time.
package final class FolderComparison {
    private let intake: Intake
    private let caller: Caller
    private let folder: RelativePath?
    private let function: DigestFunction
    private let wanted: FolderDigest
    private let query: KnownFiles.Query
    private var next: [UInt8]
    private var hasRotten: Bool
    /// Whether all that was acknowledged before was brought in order.
    private var hasIndexed = false
    /// Uploads and folders that were looked at.
    private var looked = 0
    /// How many may be, for as many as the caller says that there are: some of a file were replaced, or are of others.
    private let most: Int

    /// Looked at for any question, and for each file that it is about: of one that was replaced often the first 64 uploads are read, and
    /// the newest 64 of each state (`FolderQuery`). In all as many as a folder of a million files has that were replaced some times.
    private static let looks = (atLeast: 4096, forEach: 3 * 64, inAll: 1 << 22)

    /// Of each file the newest upload, whoever has sent it.
    private let newest = UploadListDigester()

    /// Of each file the newest that the caller has sent; none of the files that others have.
    private let own = UploadListDigester()

    /// - Parameters:
    ///   - path: of the folder, as the caller knows it; empty for its own top.
    ///   - function: what the uploads' digests have to be computed with.
    /// - Throws: `forbidden` for a caller that may not send; `invalidPath`.
    package init(
        _ intake: Intake, _ caller: Caller, path: String, _ function: DigestFunction, _ wanted: FolderDigest
    ) throws(Failure) {
        folder = try caller.pathForSending(path)
        (self.intake, self.caller, self.function, self.wanted) = (intake, caller, function, wanted)
        query = KnownFiles.Query(folder, client: caller.id, sender: caller.sender)
        next = query.prefix
        most = Self.looks.atLeast + min(Self.looks.forEach * Int(wanted.count), Self.looks.inAll)
        hasRotten = intake.known.hasRotten
    }

    /// Looks at some more files.
    ///
    /// - Returns: whether they are the same, once that is known.
    package func step() -> Bool? {
        guard !foundRotten() else { return nil }
        let page = intake.known.files(query, after: next)
        add(page.files)
        looked += page.looked
        // Neither can become the same any more, or it would take far more than the caller says that there is.
        let isHopeless = newest.count > wanted.count && own.count > wanted.count || looked > most
        if let next = page.next, !isHopeless {
            self.next = next
            return nil
        }
        let isSame = own.finish() == wanted || newest.finish() == wanted
        guard !isSame else { return foundRotten() ? nil : true }
        return mayBeUnindexed() ? nil : false
    }

    /// Begins anew where a scrub has just found the first rotten file: it may be one of those that were looked at.
    private func foundRotten() -> Bool {
        guard !hasRotten, intake.known.hasRotten else { return false }
        hasRotten = true
        restart()
        return true
    }

    /// What came a moment ago is not found by its folder yet. To bring it in order costs a sync, so it is done once, and only where
    /// the answer would be no.
    ///
    /// - Returns: whether to begin anew.
    private func mayBeUnindexed() -> Bool {
        guard !hasIndexed, intake.known.indexNowAndThen() else { return false }
        hasIndexed = true
        restart()
        return true
    }

    private func restart() {
        (next, looked) = (query.prefix, 0)
        _ = (newest.finish(), own.finish())
    }

    private func add(_ files: [KnownFile]) {
        // Those of one file stand together.
        var firsts: [Int] = []
        var names: [String] = []
        firsts.reserveCapacity(files.count)
        names.reserveCapacity(files.count)
        for index in files.indices where names.last.map({ !$0.hasSameBytes(as: files[index].name) }) ?? true {
            firsts.append(index)
            names.append(files[index].name)
        }
        let versions = intake.store.versions(of: names, in: folder)
        for (place, version) in versions.enumerated() {
            let end = place + 1 < firsts.count ? firsts[place + 1] : files.count
            if let version, isSound(version) { add(files[firsts[place]..<end], version) }
        }
    }

    /// - Parameters:
    ///   - uploads: of one file.
    ///   - version: the file's.
    private func add(_ uploads: ArraySlice<KnownFile>, _ version: ContentVersion) {
        var (newest, own): (KnownFile?, KnownFile?)
        for upload in uploads where promises(upload) && intake.holds(upload.version, as: version) {
            if newest.map({ $0.number < upload.number }) ?? true { newest = upload }
            if upload.isOwn, own.map({ $0.number < upload.number }) ?? true { own = upload }
        }
        // Under the name that it is stored under: the same upload may have got another one.
        if let newest { self.newest.add(caller.outer(newest.id), newest.name) }
        if let own { self.own.add(caller.outer(own.id), own.name) }
    }

    /// Whether an acknowledgement promises what one of now would.
    private func promises(_ file: KnownFile) -> Bool {
        file.function == function && (file.isDurable || intake.store.durability != .commit)
    }

    private func isSound(_ version: ContentVersion) -> Bool { !hasRotten || !intake.known.mayBeRotten(version) }
}

/// The file by which a server's directory knows that it is a copy: its number and its time of change are other ones there.
package struct DirectoryMark: Sendable {
    /// The name of the file in the server's own folder.
    package static let fileName = "home"

    /// Where the directory is; nil where it has no mark, or where that cannot be told.
    let read: @Sendable () -> DirectoryHome?

    /// Marks the directory anew, durably.
    let make: @Sendable () -> Result<DirectoryHome, SystemError>

    /// - Parameters:
    ///   - read: as above, and so is `make`; of a directory that is none of this machine.
    package init(
        read: @escaping @Sendable () -> DirectoryHome?,
        make: @escaping @Sendable () -> Result<DirectoryHome, SystemError>
    ) {
        (self.read, self.make) = (read, make)
    }

    /// - Parameters:
    ///   - folder: the path of the server's own folder.
    ///   - catalog: the path of its catalog, which is there.
    package init(in folder: String, catalog: String) {
        let path = "\(folder)/\(Self.fileName)"
        self.init(read: { Self.read(path, catalog) }) {
            Result { () throws(SystemError) in try Self.make(path, catalog) }
        }
    }

    private static func make(_ path: String, _ catalog: String) throws(SystemError) -> DirectoryHome {
        let token = UInt64.random(in: .min ... .max)
        _ = try OwnFile.write(Array((String(token, radix: 16) + "\n").utf8), to: path, replaces: true)
        guard let made = Self.read(path, catalog), made.token == token else {
            throw SystemError(errno: EIO, call: "open")
        }
        return made
    }

    private static func read(_ path: String, _ catalog: String) -> DirectoryHome? {
        guard let file = try? OwnFile(reading: path, atMost: 64), file.isGuarded,
            let text = String(validating: file.content, as: UTF8.self), text.hasSuffix("\n"),
            let token = UInt64(text.dropLast(), radix: 16), let number = OwnFile.identity(of: catalog)?.inode
        else { return nil }
        return DirectoryHome(
            token: token, object: file.identity.inode, touch: file.identity.changed, catalog: number)
    }
}
