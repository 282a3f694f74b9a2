import Glibc
import TransferCodec
package import TransferModel
package import TransferPorts
package import TransferSystem

/// Compares, by a digest, what is acknowledged and still stored for the files of one folder with what a client says
/// that it has. The result is what `IntakeSession.lookup` would find for all of these files, without naming any of
/// them. Used by one task at a time.
package final class FolderComparison {
    private let intake: Intake
    private let caller: Caller
    private let folder: RelativePath?
    private let function: DigestFunction
    private let wanted: FolderDigest
    private let query: KnownFiles.Query
    private var next: [UInt8]
    private var hasRotten: Bool
    /// Whether this comparison has already made the catalog index the latest uploads.
    private var hasIndexed = false
    /// Number of uploads and folders that were looked at.
    private var looked = 0
    /// The most uploads and folders that are looked at before the comparison gives up. They are more than the files
    /// that the client declares, because some uploads of a file were replaced, or belong to other clients.
    private let most: Int

    /// The numbers from which `most` is computed: for any comparison, for each declared file, and at most for all
    /// files. If a file was replaced often, its first 64 uploads are read, and the newest 64 in each state
    /// (`FolderQuery`). The number for all files is that of a folder of a million files that were replaced a few times.
    private static let looks = (atLeast: 4096, forEach: 3 * 64, inAll: 1 << 22)

    /// The newest upload of each file, by any client.
    private let newest = UploadListDigester()

    /// The newest upload of each file by this client.
    private let own = UploadListDigester()

    /// - Parameters:
    ///   - path: the folder's path as the client knows it; empty for its own top.
    ///   - function: the function of the uploads' digests.
    /// - Throws: `forbidden` for a client that may not send; `invalidPath`.
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
    /// - Returns: whether the folders are equal, or nil while that is not known.
    package func step() -> Bool? {
        guard !foundRotten() else { return nil }
        let page = intake.known.files(query, after: next)
        add(page.files)
        looked += page.looked
        // Neither digest can become equal any more, or there is far more to look at than the client declares.
        let isHopeless = newest.count > wanted.count && own.count > wanted.count || looked > most
        if let next = page.next, !isHopeless {
            self.next = next
            return nil
        }
        let isSame = own.finish() == wanted || newest.finish() == wanted
        guard !isSame else { return foundRotten() ? nil : true }
        return mayBeUnindexed() ? nil : false
    }

    /// Starts again if a scrub has just found the first rotten file, because that may be a file that was looked at
    /// before.
    private func foundRotten() -> Bool {
        guard !hasRotten, intake.known.hasRotten else { return false }
        hasRotten = true
        restart()
        return true
    }

    /// Uploads that were recorded a moment ago cannot be found by their folder yet. Indexing them costs a sync, so that
    /// is done once, and only if the answer would be no.
    ///
    /// - Returns: whether the comparison was started again.
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
        // Uploads of one file are adjacent.
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
    ///   - uploads: the uploads of one file.
    ///   - version: the version of the file.
    private func add(_ uploads: ArraySlice<KnownFile>, _ version: ContentVersion) {
        var (newest, own): (KnownFile?, KnownFile?)
        for upload in uploads where promises(upload) && intake.holds(upload.version, as: version) {
            if newest.map({ $0.number < upload.number }) ?? true { newest = upload }
            if upload.isOwn, own.map({ $0.number < upload.number }) ?? true { own = upload }
        }
        // The digest uses the name that the file is stored under, which may differ from the one that the client has
        // sent.
        if let newest { self.newest.add(caller.outer(newest.id), newest.name) }
        if let own { self.own.add(caller.outer(own.id), own.name) }
    }

    /// Whether the acknowledgement promises what a new one would promise.
    private func promises(_ file: KnownFile) -> Bool {
        file.function == function && (file.isDurable || intake.store.durability != .commit)
    }

    private func isSound(_ version: ContentVersion) -> Bool { !hasRotten || !intake.known.mayBeRotten(version) }
}

/// The file that marks a server's directory. In a copy of the directory, its number and its time of change are
/// different.
package struct DirectoryMark: Sendable {
    /// The name of the file in the server's own folder.
    package static let fileName = "home"

    /// Reads the identity of the directory; nil if it has no mark, or if the mark cannot be read.
    let read: @Sendable () -> DirectoryHome?

    /// Writes a new mark for the directory, durably.
    let make: @Sendable () -> Result<DirectoryHome, SystemError>

    /// - Parameters:
    ///   - read: reads the identity, for a directory that is not on this machine; `make` marks that directory.
    package init(
        read: @escaping @Sendable () -> DirectoryHome?,
        make: @escaping @Sendable () -> Result<DirectoryHome, SystemError>
    ) {
        (self.read, self.make) = (read, make)
    }

    /// - Parameters:
    ///   - folder: the path of the server's own folder.
    ///   - catalog: the path of the catalog's file, which must exist.
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
