import Glibc
import TransferKeys
import TransferModel
import TransferSystem

extension KnownServers {
    /// More than a hundred times what the largest known lists of ssh have.
    private static let longestFile = 16 << 20

    /// A line, and what it says; comments and empty lines say nothing.
    struct Line {
        /// Without its end.
        let bytes: ArraySlice<UInt8>
        var entry: Entry?

        /// Behind what a server wrote.
        private static let ownMark = "#serve"

        init(_ entry: Entry) {
            let text = "\(entry.address) \(entry.fingerprint)" + (entry.isOwn ? " \(Self.ownMark)" : "")
            bytes = Array(text.utf8)[...]
            self.entry = entry
        }

        /// - Returns: nothing when it cannot be understood.
        init?(_ bytes: ArraySlice<UInt8>) {
            self.bytes = bytes
            // A file from another system may have two characters at the end of a line.
            let text = bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes
            let words = text.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            guard let first = words.first, first.first != UInt8(ascii: "#") else { return }
            let isOwn = words.count == 3 && words[2].elementsEqual(Self.ownMark.utf8)
            guard words.count == 2 || isOwn, let address = String(validating: first, as: UTF8.self),
                KnownServers.isOneWord(address),
                let fingerprint = KeyFingerprint(String(decoding: words[1], as: UTF8.self))
            else { return nil }
            entry = Entry(address: address, fingerprint: fingerprint, isOwn: isOwn)
        }
    }

    /// A line that says something else than it was meant to could hide a key that has changed, so none is passed over.
    func lines() throws(Fault) -> [Line] {
        let found = try reading { () throws(SystemError) in
            try OwnFile(reading: path, atMost: Self.longestFile, followsLink: true)
        }
        guard found?.isLonger != true else { throw fault("is too long") }
        // Byte by byte: in a text "\r\n" is one character, and would not end the line before it.
        let parts = (found?.content ?? []).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        var lines: [Line] = []
        for (index, part) in parts.enumerated() {
            guard let line = Line(part) else {
                throw fault("has something else than an address and a fingerprint in line \(index + 1)")
            }
            lines.append(line)
        }
        if lines.last?.bytes.isEmpty == true { lines.removeLast() }
        return lines
    }

    /// Changes the file in one step. Two programs that do so at the same time do it one after the other.
    func change(_ body: (inout [Line]) -> Void) throws(Fault) {
        let folder = OwnFile.folder(of: path)
        let outcome = try reading { () throws(SystemError) in
            try OwnFile.makeFolder(folder)
            return try OwnFile.withLock(on: folder) { () throws(SystemError) in
                Result { () throws(Fault) in
                    var lines = try lines()
                    body(&lines)
                    try write(lines)
                }
            }
        }
        try outcome.get()
    }

    private func write(_ lines: [Line]) throws(Fault) {
        let content = lines.flatMap { $0.bytes + [UInt8(ascii: "\n")] }
        _ = try reading { () throws(SystemError) in try OwnFile.write(content, to: path, replaces: true) }
    }

    private func reading<Value>(_ body: () throws(SystemError) -> Value) throws(Fault) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw fault("cannot be read or written: \(error.reason)")
        }
    }

    /// - Parameter problem: completes a sentence that begins with the file.
    func fault(_ problem: String) -> Fault {
        Fault(message: "The list of known servers '\(path.escapedForDisplay)' \(problem).")
    }
}
