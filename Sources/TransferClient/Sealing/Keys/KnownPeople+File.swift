import TransferKeys
import TransferModel

extension KnownPeople {
    /// A line of the file and its meaning; comments and empty lines have no entry.
    struct Line {
        /// The line without its newline.
        let bytes: ArraySlice<UInt8>
        var entry: Entry?

        /// Stands for an absent value.
        private static let nothing = "-"

        init(_ entry: Entry) {
            let sealing = entry.sealing.map { "\($0.fingerprint) \($0.issued)" }
            let words = [
                entry.server?.description ?? Self.nothing, Self.word(entry.name), "\(entry.identity)",
                sealing ?? Self.nothing,
            ]
            bytes = Array(words.joined(separator: " ").utf8)[...]
            self.entry = entry
        }

        /// - Returns: nil if the line cannot be understood.
        init?(_ bytes: ArraySlice<UInt8>) {
            self.bytes = bytes
            guard let words = TrustFile.words(of: bytes) else { return }
            guard words.count == 4 || words.count == 5, let name = Self.name(words[1]),
                let identity = Self.fingerprint(words[2])
            else { return nil }
            var (server, sealing) = (nil as KeyFingerprint?, nil as Entry.Sealing?)
            if !words[0].elementsEqual(Self.nothing.utf8) {
                guard let found = Self.fingerprint(words[0]) else { return nil }
                server = found
            }
            if words.count == 5 {
                guard let found = Self.fingerprint(words[3]),
                    let issued = UTCTime(String(decoding: words[4], as: UTF8.self))
                else { return nil }
                sealing = Entry.Sealing(found, issued: issued)
            } else if !words[3].elementsEqual(Self.nothing.utf8) {
                return nil
            }
            entry = Entry(server: server, name: name, identity: identity, sealing: sealing)
        }

        private static func fingerprint(_ word: ArraySlice<UInt8>) -> KeyFingerprint? {
            KeyFingerprint(String(decoding: word, as: UTF8.self))
        }

        /// Stands for an empty name, which would not be a word.
        private static let noName = "%"

        /// Names may have any characters. Those that would end a word are percent-encoded: `%20`.
        private static func word(_ name: String) -> String {
            guard !name.isEmpty else { return noName }
            let bytes = name.utf8.flatMap { byte -> [UInt8] in
                let isPlain = byte > 0x20 && byte != 0x7F && byte != UInt8(ascii: "%")
                return isPlain ? [byte] : [UInt8(ascii: "%")] + Array(String(hexadecimal: [byte]).utf8)
            }
            return String(decoding: bytes, as: UTF8.self)
        }

        private static func name(_ word: ArraySlice<UInt8>) -> String? {
            guard !word.elementsEqual(noName.utf8) else { return "" }
            var (bytes, rest): ([UInt8], ArraySlice<UInt8>) = ([], word)
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "%") else {
                    bytes.append(byte)
                    continue
                }
                let digits = String(decoding: rest.prefix(2), as: UTF8.self)
                guard let value = [UInt8](hexadecimal: digits), value.count == 1 else { return nil }
                bytes += value
                rest = rest.dropFirst(2)
            }
            return String(validating: bytes, as: UTF8.self)
        }
    }

    private var file: TrustFile { TrustFile(path: path, name: "The list of known people") }

    /// All lines. A line that cannot be understood is an error: it could hide that a key has changed.
    func lines() throws(Fault) -> [Line] {
        do throws(TrustFile.Fault) {
            return try understood(file.lines()).get()
        } catch {
            throw Fault(reason: .file, message: error.message)
        }
    }

    /// Changes the file in one step, unless `body` throws.
    func change<Value>(_ body: (inout [Line]) throws(Fault) -> Value) throws(Fault) -> Value {
        let outcome: Result<Value, Fault>
        do throws(TrustFile.Fault) {
            outcome = try file.change { (bytes) throws(Fault) in
                var lines = try understood(bytes).mapError { Fault(reason: .file, message: $0.message) }.get()
                let value = try body(&lines)
                bytes = lines.map(\.bytes)
                return value
            }
        } catch {
            throw Fault(reason: .file, message: error.message)
        }
        return try outcome.get()
    }

    private func understood(_ parts: [ArraySlice<UInt8>]) -> Result<[Line], TrustFile.Fault> {
        var lines: [Line] = []
        for (index, part) in parts.enumerated() {
            guard let line = Line(part) else {
                return .failure(file.fault("does not have a name and its keys in line \(index + 1)"))
            }
            lines.append(line)
        }
        return .success(lines)
    }
}
