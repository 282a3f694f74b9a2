import Glibc
import TransferTestSupport

/// A directory with files to push, and what a push of some of them is started with.
struct BatchFiles {
    let home: TemporaryDirectory

    /// - Parameter files: by their paths, each with its path as content.
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

    /// To run the program in it.
    var here: Surroundings { Surroundings(directory: home.path) }

    func text(_ file: String) throws -> String { String(decoding: try readFile(home.path(file)), as: UTF8.self) }

    /// Runs a push in the directory.
    func push(_ server: RunningServer, to folder: String = "", _ arguments: String...) throws -> Finished {
        try server.push(arguments, to: folder, here)
    }
}

extension BatchFiles {
    /// Gives all files one time of modification, a minute ago.
    ///
    /// - Returns: nothing when that cannot be done.
    func alignTimes() -> time_t? {
        let time = Glibc.time(nil) - 60
        let stamp = timespec(tv_sec: time, tv_nsec: 0)
        for file in files(below: home.path) where utimensat(AT_FDCWD, home.path(file), [stamp, stamp], 0) != 0 {
            return nil
        }
        return time
    }
}
