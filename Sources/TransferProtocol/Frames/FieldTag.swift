import TransferModel

/// Tag of an optional field at the end of a message. A field has one byte of tag, two of length, and the value. A
/// receiver skips unknown tags, except those from 128 on, without which it would misunderstand the message.
struct FieldTag: RawRepresentable, Hashable {
    let rawValue: UInt8

    /// In `hello` and `welcome`: the program and its version.
    static let agent = FieldTag(rawValue: 1)
    /// In `welcome`: the server's name.
    static let serverName = FieldTag(rawValue: 2)
    /// In `result`, `goodbye` and `outcome`: a sentence for users.
    static let message = FieldTag(rawValue: 3)
    /// In `result`: the path of the content if it is not the one in `begin`.
    static let storedPath = FieldTag(rawValue: 4)
    /// In `result` and `outcome`: milliseconds until a retry can succeed, 4 bytes.
    static let retryAfter = FieldTag(rawValue: 5)
    /// In `hello`: the push that the connection is part of, 8 bytes.
    static let run = FieldTag(rawValue: 6)
    /// In `hello`: the client's token.
    static let token = FieldTag(rawValue: 13)
    /// In `hello`: the name of the client's machine.
    static let clientName = FieldTag(rawValue: 14)
    /// In `welcome`: seconds for which the server keeps unfinished uploads, 4 bytes.
    static let keeps = FieldTag(rawValue: 9)
    /// At the end of checked messages: the check of all earlier bytes of the body, 4 bytes. No change of one bit turns
    /// another known tag into this number.
    static let check = FieldTag(rawValue: 117)
    /// In `welcome`: the public key of the server's receipts, 32 bytes.
    static let serverKey = FieldTag(rawValue: 7)
    /// In `result`: a signed receipt.
    static let receipt = FieldTag(rawValue: 8)
    /// In `result`: the kind of content of a looked-up upload, 1 byte.
    static let kind = FieldTag(rawValue: 12)
    /// In `result`: the upload has replaced other content. No value.
    static let replaced = FieldTag(rawValue: 16)
    /// In `outcome` of a `list`: number of entries left out because their names cannot be in a path, 8 bytes.
    static let unlisted = FieldTag(rawValue: 17)
    /// In `begin`, `resume` and `file`: bytes of the content outside holes, 8 bytes.
    static let filled = FieldTag(rawValue: 18)
    /// In `welcome`: an identifier of the server's directory on its machine, 16 bytes.
    static let directory = FieldTag(rawValue: 19)
    /// In `welcome`: a signature that proves that the server owns `serverKey`, 64 bytes.
    static let serverKeyProof = FieldTag(rawValue: 21)
    /// In `result` and `outcome`: the batch of the trash that has the replaced content.
    static let kept = FieldTag(rawValue: 20)
    /// In `outcome` of a `list`: what the server has found out about a picture, an object of JSON.
    static let picture = FieldTag(rawValue: 22)
    /// In `begin`: the ID and size of the upload that the content is a part of, and the part's offset.
    static let part = FieldTag(rawValue: 0x80)
    /// In `begin` and `resume`: the content consists of the parts of this upload. No value.
    static let multipart = FieldTag(rawValue: 0x81)

    /// In `begin` and `resume`: names of the upload's recipients.
    static let recipients = FieldTag(rawValue: 0x82)
    /// In `fetch`: the delivery whose content is wanted, 16 bytes.
    static let delivery = FieldTag(rawValue: 0x83)
    /// In `begin` and `resume`: the note of a sealed upload, which only the recipients can read.
    static let note = FieldTag(rawValue: 0x84)
    /// In `settle`: the recipient's signature, 64 bytes.
    static let signature = FieldTag(rawValue: 15)

    /// In `make`: the target of a link, or the path of the file to copy.
    static let target = FieldTag(rawValue: 0x85)
    /// In `make` and `begin`: owner and extended attributes.
    static let attributes = FieldTag(rawValue: 0x86)
    /// In `list`, `remove` and `move`: the batch of the trash that has the path; empty for the trash itself.
    static let trash = FieldTag(rawValue: 0x87)
    /// In `make`, `move`, `remove`, `begin` and `resume`: the version that the existing file must have, 16 bytes.
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

    /// Appends a text, cut to `Limits.text`, unless it is empty.
    mutating func append(field tag: FieldTag, text: String) {
        guard !text.isEmpty else { return }
        append(field: tag, text.utf8.prefix(Limits.text))
    }
}
