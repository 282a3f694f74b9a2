internal import CLinux
import Glibc
package import TransferModel
package import TransferPorts
package import TransferSystem

/// Reads stored files for clients that may see them. Paths go through the same resolver as those of uploads.
extension FileStore {
    /// The attributes of a file or folder; nil stands for the store's directory itself.
    ///
    /// - Throws: `notFound`, also for anything other than a file or folder.
    package func attributes(at path: RelativePath?) throws(Failure) -> StoredAttributes {
        let status = try reading(path) { () throws(SystemError) in
            guard let path else { return try tree.root.status(".") }
            try tree.check(path)
            return try tree.open(path.parent).status(String(path.name))
        }
        guard let status, let attributes = StoredAttributes(status) else { throw .notFound(path) }
        return attributes
    }

    /// The file, folder or symbolic link at a path with all its attributes. Links are not followed.
    ///
    /// - Throws: `notFound`, also for anything other than a file, folder or link.
    package func whole(at path: RelativePath) throws(Failure) -> WholeEntry {
        let entry = try reading(path) { () throws(SystemError) in
            try tree.check(path)
            return try WholeEntry(path, named: String(path.name), in: try tree.open(path.parent))
        }
        guard let entry else { throw .notFound(path) }
        return entry
    }

    /// Whether the path is a folder. A symbolic link to a folder does not count.
    ///
    /// - Throws: `notFound`, also if it is no file, folder or link.
    package func isDirectory(at path: RelativePath) throws(Failure) -> Bool {
        let status = try reading(path) { () throws(SystemError) in
            try tree.check(path)
            return try tree.open(path.parent).status(String(path.name))
        }
        guard let status, status.isFile || status.isDirectory || status.isLink else { throw .notFound(path) }
        return status.isDirectory
    }

    /// Lists a folder; nil stands for the store's directory itself.
    ///
    /// - Throws: `notFound`; `wrongForm` for a file.
    package func list(_ path: RelativePath?) throws(Failure) -> any StoredListing {
        do throws(Failure) {
            return try reading(path) { () throws(SystemError) in try DirectoryListing(try tree.open(path), at: path) }
        } catch {
            guard error.code == .notFound, try !attributes(at: path).isDirectory else { throw error }
            throw Failure(.wrongForm, "\(path?.description ?? "It") is a file, not a folder.")
        }
    }

    /// A reader that looks up and opens stored files.
    package func reader() -> any TreeReader { DirectoryReader(tree) }

    fileprivate func reading<T>(
        _ path: RelativePath?, _ body: () throws(SystemError) -> T
    ) throws(Failure) -> T {
        do throws(SystemError) { return try body() } catch { throw Failure(error, reading: path) }
    }
}

extension Failure {
    /// The failure of a call that was to read an entry or its attributes.
    package init(_ error: SystemError, reading path: RelativePath?) {
        let shown = path?.description ?? "the folder"
        switch error.errno {
        // ENOTDIR: a component of the path is a file.
        case ENOENT, ENOTDIR: self = .notFound(path)
        case EACCES, EPERM:
            self.init(.storageFailed, "Could not read \(shown): the server's file system denies permission.")
        default: self.init(error, doing: "read \(shown)")
        }
    }
}

/// Reads the files of a copied directory again, because the catalog does not have their versions.
extension FileStore {
    /// The most files that are open at once.
    private static let mostReread = 32

    /// Bytes that are read at once.
    private static let readSize = 256 << 10

    /// Reads stored files again, after syncing them and their names, because programs that copy files rarely sync them.
    ///
    /// - Parameters:
    ///   - queries: the files, with the digest functions to compute.
    ///   - progress: called with the number of bytes of each piece. Returning false ends the reading; the rest is
    ///     `.left`.
    /// - Returns: one reading for each query, in their order.
    /// - Throws: `storageFailed` if the store is in doubt, because reading proves nothing then.
    package func reread(_ queries: [ContentQuery], progress: (Int) -> Bool) throws(Failure) -> [ContentReading] {
        var readings: [ContentReading] = []
        var rest = queries[...]
        while !rest.isEmpty {
            readings += try rereadSome(Array(rest.prefix(Self.mostReread)), progress)
            rest = rest.dropFirst(Self.mostReread)
        }
        return readings
    }

    private func rereadSome(
        _ queries: [ContentQuery], _ progress: (Int) -> Bool
    ) throws(Failure) -> [ContentReading] {
        let moment = incoming.committer.moment
        guard !incoming.committer.isInDoubt else { throw .isInDoubt }
        let opened = sync(queries.map { query in Result { () throws(SystemError) in try openStored(query.path) } })
        let areNamesDurable = confirmNames(of: queries.map(\.path))
        // An earlier sync may have received the kernel's only report that bytes of these files were lost.
        guard areNamesDurable, !incoming.committer.isInDoubt(about: moment) else { throw .isInDoubt }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        return zip(queries, opened).map { query, opened in
            switch opened {
            case .success(let file?): read(query, file, buffer, progress)
            case .success(nil): .changed
            case .failure(let error): .unreadable(Failure(error, reading: query.path))
            }
        }
    }

    /// - Returns: nil if the path has no file any more.
    private func openStored(_ path: RelativePath) throws(SystemError) -> StoredContent? {
        do throws(SystemError) {
            try tree.check(path)
            let directory = try tree.open(path.parent)
            // Opening a device can have side effects.
            guard let status = try directory.status(String(path.name)), status.isFile else { return nil }
            return try StoredContent(String(path.name), in: directory, as: path)
        } catch {
            guard error.errno != ENOENT, error.errno != ENOTDIR, error.errno != ELOOP else { return nil }
            throw error
        }
    }

    /// Syncs the opened files together.
    private func sync(_ files: [Result<StoredContent?, SystemError>]) -> [Result<StoredContent?, SystemError>] {
        var synced = files
        let opened = files.map { try? $0.get() }
        let places = opened.indices.filter { opened[$0] != nil }
        let errors = incoming.committer.commit(
            places.compactMap { opened[$0] ?? nil }, since: incoming.committer.failures)
        for case (let place, let error?) in zip(places, errors) { synced[place] = .failure(error) }
        return synced
    }

    private func read(
        _ query: ContentQuery, _ file: StoredContent, _ buffer: UnsafeMutableRawBufferPointer, _ progress: (Int) -> Bool
    ) -> ContentReading {
        do throws(Failure) {
            var digests: [Digest] = []
            for function in query.functions {
                guard let digest = try file.reread(function, through: buffer, progress: progress) else { return .left }
                digests.append(digest)
            }
            let version = file.attributes.version
            guard file.isTheSame, self.version(at: query.path) == version else { return .changed }
            return .read(version, digests)
        } catch {
            return .unreadable(error)
        }
    }
}

extension Failure {
    fileprivate static let isInDoubt = Failure(
        .storageFailed,
        "A sync has failed, so files do not count as stored until the machine is restarted.")
}
