import TransferCodec
import TransferKeys
import TransferModel
import TransferSealing
import TransferTestSupport

/// The material of a hostile server: names, links, contents, and deliveries, genuine and forged.
struct HostileSample: Sendable {
    /// A delivery as the server lists it, and the content that it sends for the delivery.
    struct Parcel: Sendable {
        let id: UploadID
        let name: String
        let content: [UInt8]
        let note: [UInt8]?
        /// The content that must be on disk before the client signs a receipt for the delivery.
        let opened: [UInt8]
    }

    let parcels: [Parcel]

    /// The certificate that bob's machine publishes.
    let certificate: [UInt8]

    /// Targets of symbolic links that lead outside.
    let targets: [String]

    /// Names that are invalid, lead elsewhere, or display as another name.
    static let names = [
        "..", ".", "", "../outside/secret", "/etc/x", "a/b", "x\0y", ".transfer", ".transfer-parts", ".bashrc",
        String(repeating: "n", count: 300), "\u{1B}[2J", "\u{202E}gnp.exe", "new\nline", "a\u{200B}", "-rf", "link",
        "keep",
    ]

    /// - Parameters:
    ///   - key: sealing key of the client, which can open content sealed for it.
    ///   - outside: a directory that no command names.
    init(for key: SealingKey, outside: String) throws {
        let (alice, bob) = (KeyPair(), KeyPair())
        targets = [
            outside, "\(outside)/secret", "../outside", "../../outside/secret", "keep",
            String(repeating: "t/", count: 300),
        ]
        certificate =
            SealingCertificate(try SealingKey().recipient, by: bob, at: UTCTime(clamping: 1_800_000_000)).encoded
        let contents = [
            [UInt8]("hello\n".utf8), SplitMix64.bytes(seed: 1, 200_000), [], SplitMix64.bytes(seed: 2, 5 << 20),
        ]
        var made: [Parcel] = []
        for (number, content) in contents.enumerated() {
            let id = UploadID(high: 0x5EED, low: UInt64(number * 2 + 1))
            made.append(Parcel(id: id, name: "mail-\(number).txt", content: content, note: nil, opened: content))
            let (sealed, note) = try Self.seal(content, "sealed-\(number).txt", by: alice, for: key.recipient)
            made.append(
                Parcel(
                    id: UploadID(high: 0x5EED, low: id.low + 1), name: "sealed.age", content: sealed, note: note,
                    opened: content))
        }
        parcels = made
    }

    /// Content of a file with that name.
    func content(of name: String) -> [UInt8] {
        name == "b.txt" ? SplitMix64.bytes(seed: 3, 100_000) : Array("content of \(name.utf8.count)".utf8)
    }

    /// Content that the server sends for a delivery.
    func content(of id: UploadID) -> [UInt8] { parcels.first { $0.id == id }?.content ?? [1] }

    func digest(_ content: [UInt8], _ function: DigestFunction) -> Digest {
        content.withUnsafeBytes { ContentDigester.digest(function, $0) }
    }

    private static func seal(
        _ content: [UInt8], _ path: String, by sender: KeyPair, for recipient: SealingRecipient
    ) throws -> (content: [UInt8], note: [UInt8]) {
        var sealed: [UInt8] = []
        let sealer = try Sealer(streamFor: [recipient])
        try sealer.seal(content.span.bytes, into: &sealed)
        try sealer.finish(into: &sealed)
        let said = SealedNote.Content(
            size: UInt64(content.count),
            digest: content.withUnsafeBytes { ContentDigester.digest(SealedNote.digestFunction, $0) })
        let note = SealedNote(try RelativePath(path), .file, said, permissions: 0o777, of: sealer.tag, by: sender)
        return (sealed, try note.sealed(for: [recipient]))
    }
}
