import TransferCodec
import TransferModel

/// The files of one directory that are asked about together, before any of them is sent.
///
/// `@unchecked Sendable`: belongs to one place at a time: the feed, the producer that looks at it, the session that waits for the
/// answer, and the feed again.
final class SourceFolder: @unchecked Sendable {
    /// A file in it.
    struct File: Sendable {
        let name: String
        /// Bytes; 0 as long as nobody has looked.
        var size: UInt64 = 0
    }

    /// The directory on this machine.
    let place: SourcePlace

    /// Of the folder on the server.
    let destination: String

    let kind: ContentKind?

    /// In the order of their names' bytes.
    private(set) var files: [File]

    /// Fewer files than this are asked about one by one.
    static let fewest = 8

    init(_ place: SourcePlace, destination: String, kind: ContentKind?, names: [String]) {
        (self.place, self.destination, self.kind) = (place, destination, kind)
        files = names.map { File(name: $0) }
    }

    /// Looks at all of them with stat(2), and makes the digest of the ids that they would be sent under.
    ///
    /// - Returns: nothing when something has changed since they were found, so that each has to be looked at by itself.
    func look(_ ids: SourceID) -> FolderDigest? {
        guard let directory = try? place.openDirectory() else { return nil }
        let path = place.path
        let digester = UploadListDigester()
        var folder = ids.folder(path: path.isEmpty ? "" : path.absolutePath, destination: destination)
        for index in files.indices {
            let name = files[index].name
            guard let file = SourcePlace(name, in: directory).identity else { return nil }
            files[index].size = file.size
            digester.add(folder.id(of: name, file), name)
        }
        return digester.finish()
    }

    /// The next file as an upload of its own, the first of them first.
    func takeNext(_ next: inout Int) -> PendingUpload? {
        guard next < files.count else { return nil }
        defer { next += 1 }
        let name = files[next].name
        let file = place.child(name)
        return PendingUpload(
            .file(file), label: file.path, destination: "\(destination)/\(name)", kind: kind,
            id: .none, hasOwnID: false)
    }

    /// - Parameter isDurable: whether all of it is on the server.
    func report(isDurable: Bool) -> KnownFolder {
        KnownFolder(
            source: place.path, storedPath: destination, files: files.count,
            bytes: files.reduce(0) { $0.addingClamped($1.size) }, isDurable: isDurable)
    }
}
