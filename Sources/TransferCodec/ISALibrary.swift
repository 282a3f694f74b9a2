internal import CISAL

/// The functions of ISA-L, the Intelligent Storage Acceleration Library, in a shared library opened at run time.
package struct ISALibrary: Sendable {
    let functions: cisal_library

    /// The one that is installed, opened when compression is first used; nil if there is none to be used.
    static let installed = ISALibrary(path: "libisal.so.2")

    /// Opens the library at `path`, looked for as dlopen(3) does. nil if it is not there or is not one that this can use.
    package init?(path: String) {
        var functions = cisal_library()
        guard cisal_open(path, &functions) else { return nil }
        self.functions = functions
        guard readsWhatItWrites() else { return nil }
    }

    /// Whether a short text survives. It would not if a structure of the library had another layout than the header.
    private func readsWhatItWrites() -> Bool {
        let text: StaticString = "to and fro and to and fro and to and fro"
        let content = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return withUnsafeTemporaryAllocation(byteCount: 2 * content.count, alignment: 8) { memory in
            let stream = UnsafeMutableRawBufferPointer(rebasing: memory.prefix(content.count))
            let copy = UnsafeMutableRawBufferPointer(rebasing: memory.suffix(content.count))
            guard let length = ISALDeflateEngine(self, level: 1).deflate(content, into: stream) else { return false }
            let inflater = ISALInflateEngine(self)
            inflater.begin()
            let step = inflater.inflate(UnsafeRawBufferPointer(rebasing: stream.prefix(length)), into: copy)
            return step.outcome == .complete && step.written == content.count && content.elementsEqual(copy)
        }
    }
}
