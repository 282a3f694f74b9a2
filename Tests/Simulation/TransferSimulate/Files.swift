import Glibc
import TransferSimulation

/// Recorded cases on disk, one in each file.
enum Files {
    struct Failed: Error, CustomStringConvertible {
        let path: String
        let reason: String

        var description: String { "\(path): \(reason)" }

        init(_ path: String, _ reason: String = String(cString: strerror(errno))) {
            self.path = path
            self.reason = reason
        }
    }

    /// Paths of all cases in a directory, sorted by name.
    static func cases(in directory: String) throws(Failed) -> [String] {
        guard let stream = opendir(directory) else { throw Failed(directory) }
        defer { closedir(stream) }
        var found: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { bytes in
                bytes.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasSuffix(".txt") { found.append("\(directory)/\(name)") }
        }
        // A misspelt directory must not look like a success.
        guard !found.isEmpty else { throw Failed(directory, "no case in it") }
        return found.sorted()
    }

    static func read(_ path: String) throws(Failed) -> String {
        guard let file = fopen(path, "r") else { throw Failed(path) }
        defer { fclose(file) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { text += buffer[..<count] }
        guard ferror(file) == 0 else { throw Failed(path) }
        return String(decoding: text, as: UTF8.self)
    }

    static func write(_ text: String, to path: String) throws(Failed) {
        guard let file = fopen(path, "w") else { throw Failed(path) }
        let isWritten = fputs(text, file) >= 0
        guard fclose(file) == 0, isWritten else { throw Failed(path) }
    }

    /// File name that says what a case shows: the seed, and the first words of the kind of failure.
    static func name(of failure: Simulation.FailedRun) -> String {
        let mostWords = 8
        let words = failure.kind.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        return (["\(failure.seed)"] + words.prefix(mostWords)).joined(separator: "-") + ".txt"
    }
}
