internal import CLinux
import Glibc
package import TransferModel
package import TransferSystem

/// Files whose content is to be known again, because no upload's version is theirs: those of a copied directory.
extension FileStore {
    /// Files that are open at once.
    private static let mostReread = 32

    /// Bytes read at once.
    private static let readSize = 256 << 10

    /// Reads stored files again, from the disk, once they and their names are as durable as the store is: programs that copy
    /// mostly do not sync what they write.
    ///
    /// - Parameters:
    ///   - queries: the files, and the functions that their digests are wanted of.
    ///   - progress: is told of every piece that was read, in bytes. False ends it, and what was not read by then is `.left`.
    /// - Returns: one reading for each query, in their order.
    /// - Throws: `storageFailed` in doubt, where reading proves nothing.
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
        // A sync that had begun before may have been told of what these have lost.
        guard areNamesDurable, !incoming.committer.isInDoubt(about: moment) else { throw .isInDoubt }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        return zip(queries, opened).map { query, opened in
            switch opened {
            case .success(let file?): read(query, file, buffer, progress)
            case .success(nil): .changed
            case .failure(let error): .unreadable(error)
            }
        }
    }

    /// - Returns: nil where no file has the path any more.
    private func openStored(_ path: RelativePath) throws(SystemError) -> StoredFile? {
        do throws(SystemError) {
            try tree.check(path)
            let directory = try tree.open(path.parent)
            // Opening a device can do things.
            guard let status = try directory.status(String(path.name)), status.isFile else { return nil }
            let file = try directory.openFile(String(path.name), flags: O_RDONLY | O_NONBLOCK)
            return try StoredFile(file, on: directory.disk)
        } catch {
            guard error.errno != ENOENT, error.errno != ENOTDIR, error.errno != ELOOP else { return nil }
            throw error
        }
    }

    /// Syncs them together.
    private func sync(_ files: [Result<StoredFile?, SystemError>]) -> [Result<StoredFile?, SystemError>] {
        var synced = files
        let opened = files.map { try? $0.get() }
        let places = opened.indices.filter { opened[$0] != nil }
        let errors = incoming.committer.commit(
            places.compactMap { opened[$0]?.number }, since: incoming.committer.failures)
        for case (let place, let error?) in zip(places, errors) { synced[place] = .failure(error) }
        withExtendedLifetime(opened) {}
        return synced
    }

    private func read(
        _ query: ContentQuery, _ file: StoredFile, _ buffer: UnsafeMutableRawBufferPointer, _ progress: (Int) -> Bool
    ) -> ContentReading {
        var isLeft = false
        do throws(SystemError) {
            var digests: [Digest] = []
            for function in query.functions {
                digests.append(
                    try file.digest(function, through: buffer) { (count) throws(SystemError) in
                        isLeft = !progress(count)
                        if isLeft { throw SystemError(errno: ECANCELED, call: "read") }
                    })
            }
            guard file.isTheSame, version(at: query.path) == file.version else { return .changed }
            return .read(file.version, digests)
        } catch {
            return isLeft ? .left : .unreadable(error)
        }
    }
}

/// A stored file whose content is to be read.
package struct ContentQuery: Sendable {
    package let path: RelativePath
    package let functions: [DigestFunction]

    package init(path: RelativePath, functions: [DigestFunction]) { (self.path, self.functions) = (path, functions) }
}

/// What came of reading a stored file.
package enum ContentReading: Equatable, Sendable {
    /// It was the same file all the time. It has one digest for each function that was asked for, in their order.
    case read(ContentVersion, [Digest])

    /// It was changed while it was read, or no file has the path.
    case changed

    /// It could not be opened, synced or read.
    case unreadable(SystemError)

    /// The caller ended the reading before.
    case left
}

extension Failure {
    fileprivate static let isInDoubt = Failure(
        .storageFailed,
        "A sync has failed, so what is found is not taken for stored until the machine is started again.")
}
