import Glibc
import TransferModel
import TransferSystem

/// A small file with a line for each key that the user trusts. Only its owner can read it.
struct TrustFile: Sendable {
    /// Why the file cannot be read or changed.
    struct Fault: Error {
        /// The reason as a sentence for people.
        let message: String
    }

    let path: String

    /// The subject of sentences about the file.
    let name: String

    /// Most bytes: more than a hundred times the size of the largest known lists of ssh.
    private static let longest = 16 << 20

    /// - Returns: nil for a comment or an empty line.
    static func words(of line: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        // In a file from another system, lines may end with a carriage return and a newline.
        let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        let words = text.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return words.first.map { $0.first != UInt8(ascii: "#") } ?? false ? words : nil
    }

    /// The lines without their newlines; empty if the file does not exist.
    func lines() throws(Fault) -> [ArraySlice<UInt8>] {
        let found = try reading { () throws(SystemError) in
            try OwnFile(reading: path, atMost: Self.longest, followsLink: true)
        }
        guard found?.isLonger != true else { throw fault("is too long") }
        if found != nil {
            do throws(FileTrust.Fault) { try FileTrust.check(path) } catch { throw fault(error.problem) }
        }
        // Byte by byte: in a Swift string "\r\n" is one character, and would not end the line.
        var lines = (found?.content ?? []).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    /// Changes the file in one step. A lock makes programs that change it at the same time wait for each other.
    ///
    /// - Parameter body: changes the lines; if it throws, the file stays as it is.
    func change<Value, Failure: Error>(
        _ body: (inout [ArraySlice<UInt8>]) throws(Failure) -> Value
    ) throws(Fault) -> Result<Value, Failure> {
        let folder = OwnFile.folder(of: path)
        let outcome = try reading { () throws(SystemError) in
            try OwnFile.makeFolder(folder)
            return try OwnFile.withLock(on: folder) { () throws(SystemError) in
                Result { () throws(Fault) in try changeLocked(body) }
            }
        }
        return try outcome.get()
    }

    private func changeLocked<Value, Failure: Error>(
        _ body: (inout [ArraySlice<UInt8>]) throws(Failure) -> Value
    ) throws(Fault) -> Result<Value, Failure> {
        let before = try lines()
        var lines = before
        let result = Result { () throws(Failure) in try body(&lines) }
        guard case .success = result, lines != before else { return result }
        let content = lines.flatMap { $0 + [UInt8(ascii: "\n")] }
        // A longer file could not be read any more.
        guard content.count <= Self.longest else { throw fault("would become too long") }
        _ = try reading { () throws(SystemError) in try OwnFile.write(content, to: path, replaces: true) }
        return result
    }

    private func reading<Value>(_ body: () throws(SystemError) -> Value) throws(Fault) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw fault("cannot be read or written: \(error.reason)")
        }
    }

    /// - Parameter problem: completes a sentence whose subject is the file.
    func fault(_ problem: String) -> Fault { Fault(message: "\(name) '\(path.escapedForDisplay)' \(problem).") }
}

extension FileTrust.Fault {
    /// Completes a sentence whose subject is the file, and says what to do.
    package var problem: String {
        let shown = path.escapedForDisplay
        let what = isFolder ? "is not trusted: its folder '\(shown)'" : "is not trusted: it"
        let flag = "--\(FileTrust.flagName)"
        return switch reason {
        case .owner(let user): "\(what) belongs to user \(user). Make it your own, or give \(flag)"
        case .unknown: "\(what) cannot be examined. Put a file in its place, or give \(flag)"
        case .writable: "\(what) can be written by other users. Run 'chmod go-w \(shown)', or give \(flag)"
        case .served:
            "is not trusted: it is in '\(shown)', where a server stores what its clients send. Move "
                + "it, set HOME to another folder or, if no server uses that folder any more, remove "
                + "'\(shown)/.transfer'"
        }
    }
}
