import TransferKeys
import TransferModel

extension KnownServers {
    /// A line of the file and its meaning; comments and empty lines have no entry.
    struct Line {
        /// The line without its newline.
        let bytes: ArraySlice<UInt8>
        var entry: Entry?

        /// Marks lines that a server of this user wrote.
        private static let ownMark = "#serve"

        init(_ entry: Entry) {
            let text = "\(entry.address) \(entry.fingerprint)" + (entry.isOwn ? " \(Self.ownMark)" : "")
            bytes = Array(text.utf8)[...]
            self.entry = entry
        }

        /// - Returns: nil if the line cannot be understood.
        init?(_ bytes: ArraySlice<UInt8>) {
            self.bytes = bytes
            guard let words = TrustFile.words(of: bytes) else { return }
            let isOwn = words.count == 3 && words[2].elementsEqual(Self.ownMark.utf8)
            guard words.count == 2 || isOwn, let address = String(validating: words[0], as: UTF8.self),
                KnownServers.isOneWord(address),
                let fingerprint = KeyFingerprint(String(decoding: words[1], as: UTF8.self))
            else { return nil }
            entry = Entry(address: address, fingerprint: fingerprint, isOwn: isOwn)
        }
    }

    private var file: TrustFile { TrustFile(path: path, name: "The list of known servers") }

    /// All lines. A line that cannot be understood is an error: it could hide that a key has changed.
    func lines() throws(Fault) -> [Line] {
        do throws(TrustFile.Fault) {
            return try understood(file.lines()).get()
        } catch {
            throw Fault(message: error.message)
        }
    }

    /// Changes the file in one step. A lock makes programs that change it at the same time wait for each other.
    func change(_ body: (inout [Line]) -> Void) throws(Fault) {
        let outcome: Result<Void, Fault>
        do throws(TrustFile.Fault) {
            outcome = try file.change { (bytes) throws(Fault) in
                var lines = try understood(bytes).mapError { Fault(message: $0.message) }.get()
                body(&lines)
                bytes = lines.map(\.bytes)
            }
        } catch {
            throw Fault(message: error.message)
        }
        try outcome.get()
    }

    private func understood(_ parts: [ArraySlice<UInt8>]) -> Result<[Line], TrustFile.Fault> {
        var lines: [Line] = []
        for (index, part) in parts.enumerated() {
            guard let line = Line(part) else {
                let problem = "does not have an address and a fingerprint in line \(index + 1)"
                return .failure(file.fault(problem))
            }
            lines.append(line)
        }
        return .success(lines)
    }

    /// - Parameter problem: completes a sentence whose subject is the file.
    func fault(_ problem: String) -> Fault { Fault(message: file.fault(problem).message) }
}
