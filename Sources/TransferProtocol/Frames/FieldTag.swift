import TransferModel

/// Names an optional field at the end of a message: one byte of tag, two of length, the value. A receiver skips tags
/// that it doesn't know, except those from 128 on, without which the message would be misunderstood.
struct FieldTag: RawRepresentable, Hashable {
    let rawValue: UInt8

    /// In `hello` and `welcome`: the program and its version.
    static let agent = FieldTag(rawValue: 1)
    /// In `welcome`: what the server calls itself.
    static let serverName = FieldTag(rawValue: 2)
    /// In `result` and `goodbye`: a sentence for people.
    static let message = FieldTag(rawValue: 3)
    /// In `result`: where the content is, when that is not the path that `begin` asked for.
    static let storedPath = FieldTag(rawValue: 4)
    /// In `result`: milliseconds after which to try again, 4 bytes.
    static let retryAfter = FieldTag(rawValue: 5)
    /// In `hello`: the push that the connection is part of, 8 bytes.
    static let run = FieldTag(rawValue: 6)
    /// In `hello`: what the client shows to be let in.
    static let token = FieldTag(rawValue: 13)
    /// In `hello`: what the client calls its machine.
    static let clientName = FieldTag(rawValue: 14)
    /// In `welcome`: seconds for which unfinished uploads are kept, 4 bytes.
    static let keeps = FieldTag(rawValue: 9)
    /// At the end of `begin` and `result`: the check of everything before it in the body, 4 bytes. No
    /// bit that changes makes another known tag of this number.
    static let check = FieldTag(rawValue: 117)
    /// In `welcome`: the public key that the server signs receipts with, 32 bytes.
    static let serverKey = FieldTag(rawValue: 7)
    /// In `result`: a signed receipt.
    static let receipt = FieldTag(rawValue: 8)
    /// In `result`: what the upload that was looked up was said to be, 1 byte.
    static let kind = FieldTag(rawValue: 12)
    /// In `result`: the upload took the place of other content. No value.
    static let replaced = FieldTag(rawValue: 16)
    /// In `outcome` of a `list`: what was left out because no path can have its name, 8 bytes.
    static let unlisted = FieldTag(rawValue: 17)
    /// In `begin`, `resume` and `file`: bytes of the content that are not in holes, 8 bytes.
    static let filled = FieldTag(rawValue: 18)
    /// In `welcome`: which directory of its machine the server stores in, 16 bytes.
    static let directory = FieldTag(rawValue: 19)
    /// In `welcome`: a signature that shows that `serverKey` is the server's own, 64 bytes.
    static let serverKeyProof = FieldTag(rawValue: 21)
    /// In `result`: the part of the trash that has what the upload took the place of.
    static let kept = FieldTag(rawValue: 20)
    /// In `begin`: the upload that the content is a part of, where the part starts and how long the upload is.
    static let part = FieldTag(rawValue: 0x80)
    /// In `begin` and `resume`: the content is what the parts of this upload bring. No value.
    static let multipart = FieldTag(rawValue: 0x81)

    /// In `begin` and `resume`: the people that the upload is for.
    static let recipients = FieldTag(rawValue: 0x82)
    /// In `fetch`: the delivery whose content is wanted, 16 bytes.
    static let delivery = FieldTag(rawValue: 0x83)
    /// In `begin` and `resume`: what only the recipients can read of a sealed upload.
    static let note = FieldTag(rawValue: 0x84)
    /// In `settle`: the recipient's signature, 64 bytes.
    static let signature = FieldTag(rawValue: 15)

    /// In `make`: what a link leads to.
    static let target = FieldTag(rawValue: 0x85)
    /// In `make` and `begin`: owner and extended attributes.
    static let attributes = FieldTag(rawValue: 0x86)
    /// In `list`, `fetch`, `remove` and `move`: the path is in this part of the trash; empty for the trash itself.
    static let trash = FieldTag(rawValue: 0x87)
    /// In `make`, `move`, `remove`, `begin` and `resume`: what has the path has to be of this version, 16 bytes.
    static let version = FieldTag(rawValue: 0x88)

    /// Whether a receiver that doesn't know the tag must refuse the message.
    var isCritical: Bool { rawValue >= 0x80 }
}

extension [UInt8] {
    mutating func append(field tag: FieldTag, _ value: some Collection<UInt8>) {
        append(tag.rawValue)
        append(bigEndian: UInt16(value.count))
        append(contentsOf: value)
    }

    mutating func append(field tag: FieldTag, longNumber number: UInt64) {
        append(field: tag, Swift.withUnsafeBytes(of: number.bigEndian) { Array($0) })
    }

    mutating func append(field tag: FieldTag, number: UInt32) {
        append(field: tag, Swift.withUnsafeBytes(of: number.bigEndian) { Array($0) })
    }

    /// Appends a text unless it is empty, cut to the limit.
    mutating func append(field tag: FieldTag, text: String) {
        guard !text.isEmpty else { return }
        append(field: tag, text.utf8.prefix(Limits.text))
    }
}
