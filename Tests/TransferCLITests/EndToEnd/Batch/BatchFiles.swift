import Glibc
import TransferTestSupport

/// A directory with files to push, and the surroundings of a push of some of them.
struct BatchFiles {
    let home: TemporaryDirectory

    /// - Parameter files: paths of the files to write; the content of each is its path.
    init(_ files: [String]) throws {
        home = try TemporaryDirectory()
        for file in files { try add(file) }
    }

    func add(_ file: String) throws {
        var folder = home.path
        for component in file.split(separator: "/").dropLast() {
            folder += "/\(component)"
            if !isDirectory(folder) { try makeDirectory(folder) }
        }
        try writeFile(home.path(file), file.utf8)
    }

    /// Surroundings that run the program in the directory.
    var here: Surroundings { Surroundings(directory: home.path) }

    func text(_ file: String) throws -> String { String(decoding: try readFile(home.path(file)), as: UTF8.self) }

    /// Runs a push in the directory.
    func push(_ server: RunningServer, to folder: String = "", _ arguments: String...) throws -> Finished {
        try server.push(arguments, to: folder, here)
    }
}

extension BatchFiles {
    /// Gives all files the same modification time, a minute ago.
    ///
    /// - Returns: nil if the times cannot be set.
    func alignTimes() -> time_t? {
        let time = Glibc.time(nil) - 60
        let stamp = timespec(tv_sec: time, tv_nsec: 0)
        for file in files(below: home.path) where utimensat(AT_FDCWD, home.path(file), [stamp, stamp], 0) != 0 {
            return nil
        }
        return time
    }
}
