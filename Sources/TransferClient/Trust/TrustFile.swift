import Glibc
import TransferModel
import TransferSystem

/// A small file of its user with a line for each thing that is trusted. Only its owner can read it.
struct TrustFile: Sendable {
    /// Why it cannot be read or changed.
    struct Fault: Error {
        /// A sentence.
        let message: String
    }

    let path: String

    /// Begins a sentence about it.
    let name: String

    /// More than a hundred times what the largest known lists of ssh have.
    private static let longest = 16 << 20

    /// - Returns: nothing for a comment, and for an empty line.
    static func words(of line: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        // A file from another system may have two characters at the end of a line.
        let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        let words = text.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return words.first.map { $0.first != UInt8(ascii: "#") } ?? false ? words : nil
    }

    /// Without their ends; none when there is no such file.
    func lines() throws(Fault) -> [ArraySlice<UInt8>] {
        let found = try reading { () throws(SystemError) in
            try OwnFile(reading: path, atMost: Self.longest, followsLink: true)
        }
        guard found?.isLonger != true else { throw fault("is too long") }
        if found != nil {
            do throws(FileTrust.Fault) { try FileTrust.check(path) } catch { throw fault(error.problem) }
        }
        // Byte by byte: in a text "\r\n" is one character, and would not end the line before it.
        var lines = (found?.content ?? []).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    /// Changes the file in one step. Two programs that do so at the same time do it one after the other.
    ///
    /// - Parameter body: gets the lines that there are; where it fails the file stays as it is.
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
        // Otherwise nothing that it says could be read any more.
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

    /// - Parameter problem: completes a sentence that begins with the file.
    func fault(_ problem: String) -> Fault { Fault(message: "\(name) '\(path.escapedForDisplay)' \(problem).") }
}

extension FileTrust.Fault {
    /// Completes a sentence that begins with the file, and says what to do.
    package var problem: String {
        let shown = path.escapedForDisplay
        let what = isFolder ? "is not believed: its folder '\(shown)'" : "is not believed: it"
        let flag = "--\(FileTrust.flagName)"
        return switch reason {
        case .owner(let user): "\(what) belongs to user \(user). Make it your own, or give \(flag)"
        case .unknown: "\(what) cannot be looked at. Put a file in its place, or give \(flag)"
        case .writable: "\(what) can be written by others. Run 'chmod go-w \(shown)', or give \(flag)"
        case .served:
            "is not believed: it is in '\(shown)', where a server stores what its clients send. Move it, set HOME to another folder or, "
                + "if no server uses that folder any more, remove '\(shown)/.transfer'"
        }
    }
}
