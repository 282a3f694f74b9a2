internal import CQREncode

/// libqrencode, in a shared library opened at run time.
struct QRLibrary: Sendable {
    private let functions: cqrencode_library

    /// The one that is installed, opened when a code is first drawn; nil if there is none.
    static let installed = QRLibrary(path: "libqrencode.so.4")

    /// Modules of the largest code there is: version 40 has 177 in a row (ISO/IEC 18004, section 6.3.1).
    private static let mostModules = 177 * 177

    /// Opens the library at `path`, looked for as dlopen(3) does.
    init?(path: String) {
        var functions = cqrencode_library()
        guard cqrencode_open(path, &functions) else { return nil }
        self.functions = functions
    }

    /// - Returns: nothing for a text that is empty, has a NUL in it or is too long for a code.
    func code(of text: String) -> QRCode? {
        guard !text.isEmpty, !text.utf8.contains(0) else { return nil }
        var width = 0
        let modules = [UInt8](unsafeUninitializedCapacity: Self.mostModules) { buffer, count in
            width = cqrencode_encode(functions, text, buffer.baseAddress, buffer.count)
            count = width * width
        }
        return QRCode(width: width, modules: modules.map { $0 == 1 })
    }
}
