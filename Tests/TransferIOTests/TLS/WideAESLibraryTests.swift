#if arch(x86_64)
    import CIPSecMB
    import COpenSSL
    import Glibc
    import Testing
    import TransferSystem

    @testable import TransferIO

    /// A library is used only if it passes the examination. The tests examine one that works like OpenSSL, and some
    /// that differ in one point.
    @Suite struct WideAESLibraryTests {
        @Test func oneThatDoesAsOpenSSLIsTaken() throws {
            try WideAES.examine(Self.faithful)
        }

        /// Every length up to a few bytes more than one call takes, with the code for each kind of processor that this
        /// one can run.
        @Test(arguments: ["sse", "avx_gen2", "avx_gen4", "vaes_avx512"]) func theInstalledOne(_ kind: String) throws {
            guard let library = try? WideAES.open(WideAES.fileName, kind: kind) else {
                return print("\(WideAES.fileName) is not here: it was not compared.")
            }
            guard kind != "vaes_avx512" || cipsecmb_suits_processor(), kind != "avx_gen4" || cipsecmb_has_avx2() else {
                return print("This processor doesn't run the functions for \(kind).")
            }
            try WideAES.examine(library, counts: 0...4097)
        }

        @Test(arguments: [0, 0x00_37_05, 0x02_00_00, .max] as [UInt32]) func otherVersions(_ version: UInt32) {
            var library = Self.faithful
            library.version = version
            expectUnfit(library, "version")
        }

        /// The structure of version 1.5 beside the header of 1.3, and larger ones.
        @Test func aLargerStructure() throws {
            var library = Self.faithful
            library.expand = { key, expanded in
                guard let key, let expanded else { return }
                memset(expanded, 1, 1264)
                memcpy(expanded, key, 16)
            }
            try WideAES.examine(library)
            library.expand = { key, expanded in
                guard let key, let expanded else { return }
                memset(expanded, 1, 1537)
                memcpy(expanded, key, 16)
            }
            expectUnfit(library, "room")
            // A write far behind the structure, of a byte that is there already by chance.
            library.expand = { key, expanded in
                guard let key, let expanded else { return }
                memcpy(expanded, key, 16)
                (expanded + 2040).storeBytes(of: 0xA5, as: UInt8.self)
            }
            expectUnfit(library, "room")
            library = Self.faithful
            library.encrypt = { key, context, output, input, count, nonce, associated, more, tag, size in
                WideAESLibraryTests.crypt(1, key, output, input, count, nonce, associated, more, tag)
                if let context { memset(context, 1, 200) }
            }
            expectUnfit(library, "room")
        }

        @Test func wrongAnswers() {
            var library = Self.faithful
            // Wrong content.
            library.encrypt = { key, context, output, input, count, nonce, associated, more, tag, size in
                WideAESLibraryTests.crypt(1, key, output, input, count, nonce, associated, more, tag)
                if count == 769 { output?[768] ^= 1 }
            }
            expectUnfit(library, "769 bytes")
            // Wrong tags, only for long content.
            library.encrypt = { key, context, output, input, count, nonce, associated, more, tag, size in
                WideAESLibraryTests.crypt(1, key, output, input, count, nonce, associated, more, tag)
                if count > 4096 { tag?[15] ^= 0x80 }
            }
            expectUnfit(library, "4097 bytes")
            // Wrong bytes if the content is encrypted in place.
            library.encrypt = { key, context, output, input, count, nonce, associated, more, tag, size in
                WideAESLibraryTests.crypt(1, key, output, input, count, nonce, associated, more, tag)
                if count > 16, output.map({ UnsafePointer($0) }) == input { output?[16] ^= 1 }
            }
            expectUnfit(library, "17 bytes")
            // Wrong treatment of the associated data.
            library.encrypt = { key, context, output, input, count, nonce, associated, more, tag, size in
                WideAESLibraryTests.crypt(1, key, output, input, count, nonce, associated, min(more, 13), tag)
            }
            expectUnfit(library, "3 bytes|15 bytes|31 bytes|47 bytes|63 bytes")
        }

        @Test func wrongDecryption() {
            var library = Self.faithful
            library.decrypt = { key, context, output, input, count, nonce, associated, more, tag, size in
                WideAESLibraryTests.crypt(0, key, output, input, count, nonce, associated, more, tag)
                // One byte behind the content is overwritten.
                if count == 48 { output?[48] = 0 }
            }
            expectUnfit(library, "48 bytes")
            // The library reports the received tag as the computed one.
            library.decrypt = { key, context, output, input, count, nonce, associated, more, tag, size in
                WideAESLibraryTests.crypt(0, key, output, input, count, nonce, associated, more, tag)
                if let tag { memset(tag, 0, 16) }
            }
            expectUnfit(library, "bytes")
        }

        @Test func noneWithoutTheFunctions() {
            for path in ["libtransfer-has-no-such-library.so.1", "libc.so.6"] {
                #expect(throws: LibraryRefusal.absent) { _ = try WideAES.open(path, kind: "sse") }
            }
        }

        private func expectUnfit(
            _ library: cipsecmb_library, _ words: String, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let refusal = #expect(throws: LibraryRefusal.self, sourceLocation: sourceLocation) {
                try WideAES.examine(library)
            }
            guard case .unfit(let reason)? = refusal else { return }
            let isExpected = words.split(separator: "|").contains { reason.contains($0) }
            #expect(isExpected, "\(reason)", sourceLocation: sourceLocation)
        }

        /// Keeps the key as it is, and calls OpenSSL.
        private static var faithful: cipsecmb_library {
            cipsecmb_library(
                version: 0x01_03_00,
                expand: { key, expanded in
                    if let key, let expanded { memcpy(expanded, key, 16) }
                },
                encrypt: { key, context, output, input, count, nonce, associated, more, tag, size in
                    WideAESLibraryTests.crypt(1, key, output, input, count, nonce, associated, more, tag)
                },
                decrypt: { key, context, output, input, count, nonce, associated, more, tag, size in
                    WideAESLibraryTests.crypt(0, key, output, input, count, nonce, associated, more, tag)
                })
        }

        private static func crypt(
            _ isEncrypting: Int32, _ key: UnsafeRawPointer?, _ output: UnsafeMutablePointer<UInt8>?,
            _ input: UnsafePointer<UInt8>?, _ count: UInt64, _ nonce: UnsafePointer<UInt8>?,
            _ associated: UnsafePointer<UInt8>?, _ more: UInt64, _ tag: UnsafeMutablePointer<UInt8>?
        ) {
            let context = EVP_CIPHER_CTX_new()
            defer { EVP_CIPHER_CTX_free(context) }
            let secret = key?.assumingMemoryBound(to: UInt8.self)
            // The tag authenticates the ciphertext, so decryption ends with encrypting again.
            var written: Int32 = 0
            EVP_CipherInit_ex(context, EVP_aes_128_gcm(), nil, secret, nonce, isEncrypting)
            EVP_CipherUpdate(context, nil, &written, associated, Int32(more))
            EVP_CipherUpdate(context, output, &written, input, Int32(count))
            guard isEncrypting == 0 else {
                EVP_CipherFinal_ex(context, nil, &written)
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag)
                return
            }
            var copy = [UInt8](repeating: 0, count: Int(count))
            copy.withUnsafeMutableBufferPointer { copy in
                crypt(1, key, copy.baseAddress, output.map { UnsafePointer($0) }, count, nonce, associated, more, tag)
            }
        }
    }
#endif
