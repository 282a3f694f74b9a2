import TransferCodec
package import TransferModel
import TransferPorts

/// How many bytes of an upload had arrived, as its sheet records it. Two slots are used in turn, so that the slot whose
/// offset the client received last is never overwritten.
package struct AppendSlot: Equatable {
    /// A number that grows by one with each slot.
    var sequence: UInt64
    var offset: UInt64
    var total: UInt64?
    /// The function of `tail`, which the sheet names.
    let function: DigestFunction
    var tail: [UInt8]
    /// Whether the previous slot was on disk before this one was written, and this one is synced before the client
    /// receives its offset.
    var isDurable: Bool
    /// A digest of the boot ID of the kernel under which the slot was written.
    var boot: [UInt8]

    /// The size in bytes of `boot`, and of the digest over a slot or another part of a sheet (XXH128).
    package static let checkSize = DigestFunction.xxh128.size

    /// Its size in bytes: four numbers, the digest of the tail, that of the boot ID, and a digest over these.
    package static func size(_ function: DigestFunction) -> Int { 4 * 8 + function.size + 2 * checkSize }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian: sequence)
        bytes.append(littleEndian: offset)
        bytes.append(littleEndian: total ?? .max)
        bytes.append(littleEndian: UInt64(isDurable ? 1 : 0))
        bytes += tail.isEmpty ? [UInt8](repeating: 0, count: function.size) : tail
        bytes += boot
        return bytes + Self.check(bytes)
    }

    init(sequence: UInt64, mark: AppendMark, isDurable: Bool, boot: [UInt8]) {
        (self.sequence, offset, total) = (sequence, mark.offset, mark.total)
        (function, tail) = (mark.function, mark.tail)
        (self.isDurable, self.boot) = (isDurable, boot)
    }

    /// - Returns: nil if the slot was never written, or is torn.
    package init?(_ bytes: [UInt8], _ function: DigestFunction) {
        guard bytes.count == Self.size(function),
            Self.check(Array(bytes.dropLast(Self.checkSize))) == bytes.suffix(Self.checkSize)
        else { return nil }
        self.function = function
        let span = bytes.span.bytes
        sequence = span.littleEndian(at: 0, as: UInt64.self)
        offset = span.littleEndian(at: 8, as: UInt64.self)
        let total = span.littleEndian(at: 16, as: UInt64.self)
        self.total = total == .max ? nil : total
        isDurable = span.littleEndian(at: 24, as: UInt64.self) == 1
        let hasTail = offset % UInt64(Limits.blockSize) != 0
        let (digest, rest) = (bytes.dropFirst(4 * 8).prefix(function.size), bytes.dropFirst(4 * 8 + function.size))
        tail = hasTail ? Array(digest) : []
        boot = Array(rest.prefix(Self.checkSize))
    }

    package static func check(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) }
    }
}
