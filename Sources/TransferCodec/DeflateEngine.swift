/// One library's way to deflate, with the state it keeps between frames.
protocol DeflateEngine: AnyObject {
    /// Compresses `input` into `output`, which is not empty, as one whole zlib stream. Returns its length in bytes, or
    /// nil if it does not fit; it does if it is as long as `output`. Both are shorter than 4 GiB.
    func deflate(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int?
}
