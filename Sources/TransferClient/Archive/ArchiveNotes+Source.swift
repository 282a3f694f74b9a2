import Glibc
import TransferModel

/// What is found on this machine. Paths on the side that is changed are below the folder of the server's address.
extension ArchiveNotes {
    /// A directory is walked.
    ///
    /// - Parameters:
    ///   - place: on this machine.
    ///   - path: where it goes.
    func add(_ directory: SourceDirectory, at place: SourcePlace, _ path: String, isNamed: Bool) {
        do throws(Failure) {
            let entry = try SyncEntry.folder(directory, as: try Self.path(path))
            add(.folder, place, entry, isNamed: isNamed)
        } catch {
            // Whoever walks it finds out why it cannot be read, and all that is in it is told that its path is none.
            guard error == .tooManyAttributes, let path = try? RelativePath(path) else { return }
            cannotMake(path, error)
            let entry = SyncEntry(
                path, .folder, modified: Timestamp(seconds: 0, nanoseconds: 0), permissions: 0, ExtraAttributes())
            add(.folder, place, entry, isNamed: isNamed)
        }
    }

    /// - Throws: why the link cannot be sent.
    func add(link place: SourcePlace, _ path: String, isNamed: Bool) throws(Failure) {
        add(.link, place, try SyncEntry.link(at: place, as: try Self.path(path)), isNamed: isNamed)
    }

    /// Whether a file is sent as another name of one that was found before.
    ///
    /// - Parameters:
    ///   - place: on this machine.
    ///   - path: where it goes.
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
