internal import CQREncode
internal import TransferSystem

/// libqrencode, a shared library that is opened at run time.
struct QRLibrary: Sendable {
    /// The required version: the layout of a code must be that of this version's header.
    private static let version: Int32 = 4

    /// Modules of the largest code: version 40 has 177 in a row (ISO/IEC 18004, section 6.3.1).
    private static let mostModules = 177 * 177

    private let functions: cqrencode_library

    /// The installed library, opened and tested when a code is first drawn. Nil if no usable library is installed;
    /// users then see only the text.
    static let installed = try? QRLibrary(path: "libqrencode.so.4")

    /// Opens the library at `path`, found as dlopen(3) does.
    init(path: String) throws(LibraryRefusal) {
        var functions = cqrencode_library()
        guard cqrencode_open(path, &functions) else { throw .absent }
        try self.init(functions)
    }

    /// Accepts functions only if they make codes that a camera would find.
    init(_ functions: cqrencode_library) throws(LibraryRefusal) {
        self.functions = functions
        guard functions.version == Self.version else { throw .unfit("its version is \(functions.version)") }
        for (count, width) in [(17, 21), (18, 25), (134, 41)] {
            guard let code = code(of: String(repeating: "a", count: count)), code.width == width, code.hasFinders,
                code.hasTiming
            else { throw .unfit("it cannot encode \(count) characters") }
        }
    }

    /// - Returns: nil for a text that is empty, contains NUL or is too long.
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
