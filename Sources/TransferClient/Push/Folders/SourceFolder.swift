import TransferCodec
import TransferModel

/// The files of one directory, about which one question asks before any of them is sent.
///
/// `@unchecked Sendable`: it belongs to one owner at a time: the feed, the producer that examines it, the session that
/// waits for the answer, and the feed again.
final class SourceFolder: @unchecked Sendable {
    /// One file of the folder.
    struct File: Sendable {
        let name: String
        /// The size in bytes; 0 until it was examined.
        var size: UInt64 = 0
    }

    /// The directory on this machine.
    let place: SourcePlace

    /// The path of the folder on the server.
    let destination: String

    let kind: ContentKind?

    /// The files, in the byte order of their names.
    private(set) var files: [File]

    /// The least number of files for one question about the folder; fewer files are asked about one by one.
    static let fewest = 8

    init(_ place: SourcePlace, destination: String, kind: ContentKind?, names: [String]) {
        (self.place, self.destination, self.kind) = (place, destination, kind)
        files = names.map { File(name: $0) }
    }

    /// Examines all files with stat(2), and computes the digest of the ids that they would be sent with.
    ///
    /// - Returns: nil if a file has changed since the folder was read, so that each file must be handed out separately.
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

    /// Takes the next file, in order, as a separate upload.
    func takeNext(_ next: inout Int) -> PendingUpload? {
        guard next < files.count else { return nil }
        defer { next += 1 }
        let name = files[next].name
        let file = place.child(name)
        return PendingUpload(
            .file(file), label: file.path, destination: "\(destination)/\(name)", kind: kind,
            id: .none, hasOwnID: false)
    }

    /// - Parameter isDurable: whether all files are durable on the server.
    func report(isDurable: Bool) -> KnownFolder {
        KnownFolder(
            source: place.path, storedPath: destination, files: files.count,
            bytes: files.reduce(0) { $0.addingClamped($1.size) }, isDurable: isDurable)
    }
}
