import Glibc
import TransferClient
import TransferCodec
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferTestSupport

/// The files that a session over the faulty connection pushes.
struct WireSet: Sendable {
    /// A file of 33 MiB, the shortest that travels in parts; sessions share it.
    struct LongFile: Sendable {
        let path: String
        let content: [UInt8]

        static let size = 33 << 20

        /// Writes the file. All blocks differ, and none can be compressed.
        init(in directory: TemporaryDirectory) throws {
            var generator = SplitMix64(seed: 33)
            let block = generator.bytes(Limits.blockSize)
            var content: [UInt8] = []
            content.reserveCapacity(Self.size)
            for number in 0..<9 {
                content.append(UInt8(number))
                content += block
            }
            content.removeLast(content.count - Self.size)
            path = directory.path("long")
            self.content = content
            try Files.write(path, content)
        }

        /// A part of the content; half of the excerpts compress well. Taking a part is cheaper than generating
        /// new content.
        func excerpt(_ size: Int, using generator: inout SplitMix64) -> [UInt8] {
            let start = Int.random(in: 0..<Self.size - size, using: &generator)
            guard Bool.random(using: &generator) else { return Array(content[start..<start + size]) }
            var excerpt = Array(content[start..<start + min(64, size)])
            while excerpt.count < size { excerpt += excerpt.prefix(size - excerpt.count) }
            return excerpt
        }
    }

    /// Contents by name, which is also the source in the report.
    let contents: [String: [UInt8]]

    private let long: LongFile?

    /// The directory that contains the files; nil if the contents are in memory. The client looks files up before it
    /// sends them.
    private let directory: String?

    /// One of this many sessions pushes the long file.
    private static let longOneIn = 200

    /// - Parameters:
    ///   - long: a long file, which some sets contain beside small files.
    ///   - directory: the directory for the files of a set that is not in memory; every second set is in memory.
    init(using generator: inout SplitMix64, long: LongFile, directory: String) {
        var contents: [String: [UInt8]] = [:]
        let largest = [20, 300, 5000, 70_000].randomElement(using: &generator) ?? 20
        for number in 0..<Int.random(in: 1...30, using: &generator) {
            let size = Int.random(in: 0...largest, using: &generator)
            let name = "\(["", "a/", "some folder/", "b/c/d/"].randomElement(using: &generator) ?? "")file\(number).bin"
            contents[name] = long.excerpt(size, using: &generator)
        }
        // One block and a part of another.
        if Int.random(in: 0..<12, using: &generator) == 0 {
            contents["block.bin"] = long.excerpt(
                .random(in: 4_000_000...6_000_000, using: &generator), using: &generator)
        }
        let isLong = Int.random(in: 0..<Self.longOneIn, using: &generator) == 0
        if isLong { contents["long"] = long.content }
        self.contents = contents
        self.long = isLong ? long : nil
        self.directory = Bool.random(using: &generator) ? directory : nil
    }

    /// Whether the contents are files, which the client looks up.
    var areFiles: Bool { directory != nil }

    /// Writes the files of the set except the long one.
    func write() throws {
        guard let directory else { return }
        for (name, content) in contents where name != "long" { try Files.write("\(directory)/\(name)", content) }
    }

    var uploads: [Upload] {
        contents.sorted { $0.key < $1.key }.map { name, content in
            if let long, name == "long" { return .path(long.path, name: name) }
            guard let directory else { return .bytes(content, name: name) }
            return .path("\(directory)/\(name)", name: name)
        }
    }

    /// Approximate number of bytes that travel to the server.
    var reachUp: Int { contents.values.reduce(0) { $0 + $1.count + 130 } }

    /// Approximate number of bytes to the server if it already has all files.
    var reachUpAgain: Int { 100 + 20 * contents.count }

    /// Approximate number of bytes that travel to the client.
    var reachDown: Int { 60 + 60 * contents.count }
}

// MARK: Checks

extension WireSet {
    /// Faults in the reports of a push and in the files that they say are stored.
    func problems(_ outcome: Outcome, in server: RunningServer) -> [String] {
        // A push that never connected has nothing to report.
        if outcome.failure != nil, outcome.connections == 0, outcome.reports.isEmpty { return [] }
        let names = outcome.reports.map(name(of:)).sorted()
        guard names == contents.keys.sorted() else { return ["\(names.count) reports of \(contents.count) uploads"] }
        return outcome.reports.compactMap { problem($0, in: server) }
    }

    private func problem(_ report: UploadReport, in server: RunningServer) -> String? {
        let name = name(of: report)
        guard report.result.isSuccess else {
            return ResultCode.all.contains { $0.code == report.result } ? nil : "\(name): \(report.result) is no result"
        }
        guard let content = contents[name], let path = report.storedPath else {
            return "\(name): \(report.result) under no path"
        }
        guard report.digest == ContentDigester.digest(.xxh128, content) else { return "\(name): another digest" }
        guard server.holds(content, at: path) else { return "\(name): \(report.result) as \(path), which it is not" }
        return report.receipt.flatMap { problem($0, report) }.map { "\(name): \($0)" }
    }

    /// Faults in a receipt that the client accepted.
    private func problem(_ signed: SignedReceipt, _ report: UploadReport) -> String? {
        let receipt = signed.receipt
        guard receipt.uploadID == report.uploadID, receipt.path.string == report.storedPath,
            receipt.digest == report.digest, receipt.size == report.size, receipt.result == report.result
        else { return "a receipt for something else" }
        return (try? ReceiptVerifier().verify(signed)) == nil ? "a receipt that does not verify" : nil
    }

    private func name(of report: UploadReport) -> String {
        if report.source == long?.path { return "long" }
        guard let directory, report.source.hasPrefix(directory + "/") else { return report.source }
        return String(report.source.dropFirst(directory.count + 1))
    }

    /// Faults in the content of the server's folder after a push that succeeded.
    func problems(in server: RunningServer, _ folder: String) -> [String] {
        let found = Files.tree(server.directory.path("store/\(folder)"))
        guard found == contents.keys.sorted() else {
            let strange = Set(found).symmetricDifference(contents.keys).sorted()
            return ["in the folder there are too many or missing: \(strange)"]
        }
        return found.filter { !server.holds(contents[$0] ?? [], at: "\(folder)/\($0)") }.map {
            "\($0) has other content"
        }
    }
}

extension RunningServer {
    /// Whether a stored file has that content. In a build without optimisation `==` is slow for long content.
    fileprivate func holds(_ content: [UInt8], at path: String) -> Bool {
        guard let stored = stored(path), stored.count == content.count else { return false }
        return memcmp(stored, content, content.count) == 0
    }
}
