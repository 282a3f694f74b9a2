import TransferCodec
import TransferModel
import TransferSystem

extension StagedFile {
    /// Bytes read at once.
    private static let readSize = 256 << 10

    /// Whether all of it has a digest. It is only read where that was made by another function than the publication's.
    func has(_ expected: Digest, _ publication: Publication) throws(Failure) -> Bool {
        guard expected.algorithm.function != publication.digest.algorithm.function else {
            return expected == publication.digest
        }
        return try attempt("read what arrived") { () throws(SystemError) in
            try digest(expected.algorithm.function) == expected
        }
    }

    private func digest(_ function: DigestFunction) throws(SystemError) -> Digest {
        let digester = ContentDigester(function)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        while true {
            let count = try disk.read(number, into: buffer, at: digester.size)
            guard count > 0 else { return digester.finish().digest }
            digester.update(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { _, _ in }
        }
    }
}
