import TransferKeys
import TransferModel

extension KnownServers {
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

    /// A line that says something else than it was meant to could hide a key that has changed, so none is passed over.
    func lines() throws(Fault) -> [Line] {
        do throws(TrustFile.Fault) {
            return try understood(file.lines()).get()
        } catch {
            throw Fault(message: error.message)
        }
    }

    /// Changes the file in one step. Two programs that do so at the same time do it one after the other.
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
                let problem = "has something else than an address and a fingerprint in line \(index + 1)"
                return .failure(file.fault(problem))
            }
            lines.append(line)
        }
        return .success(lines)
    }

    /// - Parameter problem: completes a sentence that begins with the file.
    func fault(_ problem: String) -> Fault { Fault(message: file.fault(problem).message) }
}
