import Glibc
import TransferModel

/// Notes of entries found on this machine. Paths on the receiving side are below the folder of the server's address.
extension ArchiveNotes {
    /// Notes a directory that is being walked.
    ///
    /// - Parameters:
    ///   - place: the directory on this machine.
    ///   - path: its path on the receiving side.
    func add(_ directory: SourceDirectory, at place: SourcePlace, _ path: String, isNamed: Bool) {
        do throws(Failure) {
            let entry = try SyncEntry.folder(directory, as: try Self.path(path))
            add(.folder, place, entry, isNamed: isNamed)
        } catch {
            // The walk reports an unreadable directory, and an invalid path is reported for each entry in it.
            guard error == .tooManyAttributes, let path = try? RelativePath(path) else { return }
            cannotMake(path, error)
            let entry = SyncEntry(
                path, .folder, modified: Timestamp(seconds: 0, nanoseconds: 0), permissions: 0, ExtraAttributes())
            add(.folder, place, entry, isNamed: isNamed)
        }
    }

    /// - Throws: the reason why the link cannot be sent.
    func add(link place: SourcePlace, _ path: String, isNamed: Bool) throws(Failure) {
        add(.link, place, try SyncEntry.link(at: place, as: try Self.path(path)), isNamed: isNamed)
    }

    /// Whether a file was found before under another name. If so, the given path is noted as another name of that file.
    ///
    /// - Parameters:
    ///   - place: the file on this machine.
    ///   - path: its path on the receiving side.
    func takesName(_ status: stat, _ place: SourcePlace, _ path: String, isNamed: Bool = false) -> Bool {
        guard let path = try? RelativePath(path) else { return false }
        wants(path)
        guard let file = SyncEntry.NamedFile(status), hasName(file, path) else { return false }
        add(.hardLink, place, SyncEntry.name(of: status, as: path, file), isNamed: isNamed)
        return true
    }

    private static func path(_ text: String) throws(Failure) -> RelativePath {
        do throws(RelativePath.Fault) {
            return try RelativePath(text)
        } catch {
            throw Failure(.invalidPath, error.message)
        }
    }
}
